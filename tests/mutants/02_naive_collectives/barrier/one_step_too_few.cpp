// The steps are rounded down: right for powers of two only.
// state: fail
// says: 2 steps, in step k a message to r + 2^k
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"

namespace dist {

void barrier(const Communicator& comm) {
    const int p = comm.size();
    if (comm.rank() != 0) {
        send({}, 0, comm);
        recv({}, 0, comm);
        return;
    }
    for (int src = 1; src < p; ++src) {
        recv({}, src, comm);
    }
    for (int dst = 1; dst < p; ++dst) {
        send({}, dst, comm);
    }
}

void dissemination_barrier(const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    for (int distance = 1; 2 * distance <= p; distance *= 2) {
        const int dst = (r + distance) % p;
        const int src = (r - distance + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            nullptr, 0, MPI_FLOAT, dst, 0, nullptr, 0, MPI_FLOAT, src, 0, comm.handle(),
            MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
