// Rank 0 answers each rank as soon as it has come, and does not wait for the others.
// state: fail
// says: it left, and rank
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"

namespace dist {

void barrier(const Communicator& comm) {
    if (comm.rank() != 0) {
        send({}, 0, comm);
        recv({}, 0, comm);
        return;
    }
    for (int other = 1; other < comm.size(); ++other) {
        recv({}, other, comm);
        send({}, other, comm);
    }
}

void dissemination_barrier(const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    for (int distance = 1; distance < p; distance *= 2) {
        const int dst = (r + distance) % p;
        const int src = (r - distance + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            nullptr, 0, MPI_FLOAT, dst, 0, nullptr, 0, MPI_FLOAT, src, 0, comm.handle(),
            MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
