// A buffer that is surely long enough, and all of it becomes the line.
// state: fail
// says: MPI_Get_count says how many characters came
#include <mpi.h>

#include "exercises/01_point_to_point/hello_ranks.hpp"

namespace dist {

std::string hello_ranks(const Communicator& comm) {
    std::string text = "hello from rank " + std::to_string(comm.rank()) + " of " +
                       std::to_string(comm.size()) + "\n";
    if (comm.rank() != 0) {
        const int n = static_cast<int>(text.size());
        MPI_CHECK(MPI_Send(text.data(), n, MPI_CHAR, 0, 0, comm.handle()));
        return "";
    }
    for (int src = 1; src < comm.size(); ++src) {
        std::string line(64, '\0');
        MPI_CHECK(MPI_Recv(line.data(), 64, MPI_CHAR, src, 0, comm.handle(), MPI_STATUS_IGNORE));
        text += line;
    }
    return text;
}

}  // namespace dist
