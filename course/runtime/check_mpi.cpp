#include <mpi.h>

#include "course/runtime/error.hpp"

namespace dist {

void check_mpi(int code, const char* call, const char* file, int line) {
    if (code == MPI_SUCCESS) {
        return;
    }
    std::string reason(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(code, reason.data(), &length);
    reason.resize(static_cast<std::size_t>(length));
    throw Error(
        std::string(call) + " failed: " + reason + " (" + file + ":" + std::to_string(line) + ")"
    );
}

}  // namespace dist
