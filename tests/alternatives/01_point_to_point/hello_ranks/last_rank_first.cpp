// From the last rank to the first, each line in front of those that are there.
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
    std::string others;
    for (int src = comm.size() - 1; src > 0; --src) {
        MPI_Message message;
        MPI_Status status;
        MPI_CHECK(MPI_Mprobe(src, 0, comm.handle(), &message, &status));
        int n = 0;
        MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &n));
        std::string line(static_cast<std::size_t>(n), '\0');
        MPI_CHECK(MPI_Mrecv(line.data(), n, MPI_CHAR, &message, MPI_STATUS_IGNORE));
        others.insert(0, line);
    }
    text += others;
    return text;
}

}  // namespace dist
