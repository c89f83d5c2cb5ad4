// Rank 0 hears and lets go the last rank first; the steps begin with the largest distance, to the
// left.
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
    for (int src = p - 1; src > 0; --src) {
        recv({}, src, comm);
    }
    for (int dst = p - 1; dst > 0; --dst) {
        send({}, dst, comm);
    }
}

void dissemination_barrier(const Communicator& comm) {
    const int p = comm.size();
    int distance = 1;
    while (distance < p) {
        distance *= 2;
    }
    for (distance /= 2; distance >= 1; distance /= 2) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int src = (comm.rank() - distance + p) % p;
        MPI_CHECK(MPI_Irecv(nullptr, 0, MPI_FLOAT, src, 1, comm.handle(), &request));
        MPI_CHECK(MPI_Send(nullptr, 0, MPI_FLOAT, (comm.rank() + distance) % p, 1, comm.handle()));
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
