#include "exercises/02_naive_collectives/barrier.hpp"

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

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
    // here everybody has come
    for (int dst = 1; dst < p; ++dst) {
        send({}, dst, comm);
    }
}

void dissemination_barrier(const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int tag = 0;
    // before each step, this rank has heard, directly or not, from the `distance` - 1 ranks before
    // it
    for (int distance = 1; distance < p; distance *= 2) {
        const int dst = (r + distance) % p;
        const int src = (r - distance + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            nullptr, 0, MPI_FLOAT, dst, tag, nullptr, 0, MPI_FLOAT, src, tag, comm.handle(),
            MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
