#include "exercises/01_point_to_point/hello_ranks.hpp"

#include <mpi.h>

namespace dist {

std::string hello_ranks(const Communicator& comm) {
    const int tag = 0;
    std::string text = "hello from rank " + std::to_string(comm.rank()) + " of " +
                       std::to_string(comm.size()) + "\n";
    if (comm.rank() != 0) {
        const int n = static_cast<int>(text.size());
        MPI_CHECK(MPI_Send(text.data(), n, MPI_CHAR, 0, tag, comm.handle()));
        return "";
    }
    // a named source each time: the lines are then in order, whichever comes first
    for (int src = 1; src < comm.size(); ++src) {
        MPI_Status status;
        MPI_CHECK(MPI_Probe(src, tag, comm.handle(), &status));
        int n = 0;
        MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &n));
        std::string line(static_cast<std::size_t>(n), '\0');
        MPI_CHECK(MPI_Recv(line.data(), n, MPI_CHAR, src, tag, comm.handle(), MPI_STATUS_IGNORE));
        text += line;
    }
    return text;
}

}  // namespace dist
