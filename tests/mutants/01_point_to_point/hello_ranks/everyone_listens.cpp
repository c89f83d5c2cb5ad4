// Every rank sends its line to every other: all know all, at p times the cost.
// state: fail in brings a line of every rank to rank 0, in the order of their ranks
// says: every rank but 0 returns the empty string
#include <mpi.h>

#include "exercises/01_point_to_point/hello_ranks.hpp"

namespace dist {

std::string hello_ranks(const Communicator& comm) {
    const std::string mine = "hello from rank " + std::to_string(comm.rank()) + " of " +
                             std::to_string(comm.size()) + "\n";
    std::string text;
    for (int src = 0; src < comm.size(); ++src) {
        if (src == comm.rank()) {
            for (int dst = 0; dst < comm.size(); ++dst) {
                if (dst != src) {
                    const int n = static_cast<int>(mine.size());
                    MPI_CHECK(MPI_Send(mine.data(), n, MPI_CHAR, dst, 0, comm.handle()));
                }
            }
            text += mine;
        } else {
            MPI_Status status;
            MPI_CHECK(MPI_Probe(src, 0, comm.handle(), &status));
            int n = 0;
            MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &n));
            std::string line(static_cast<std::size_t>(n), '\0');
            MPI_CHECK(MPI_Recv(line.data(), n, MPI_CHAR, src, 0, comm.handle(), MPI_STATUS_IGNORE));
            text += line;
        }
    }
    return text;
}

}  // namespace dist
