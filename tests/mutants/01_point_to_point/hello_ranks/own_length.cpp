// Takes all lines to be as long as its own: rank 10's has one character more.
// state: fail
// says: MPI_ERR_TRUNCATE
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
    std::string line = text;
    for (int src = 1; src < comm.size(); ++src) {
        const int n = static_cast<int>(line.size());
        MPI_CHECK(MPI_Recv(line.data(), n, MPI_CHAR, src, 0, comm.handle(), MPI_STATUS_IGNORE));
        text += line;
    }
    return text;
}

}  // namespace dist
