// Rank 0 takes the reports as they come; each step by MPI_Isend.
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void barrier(const Communicator& comm) {
    if (comm.rank() != 0) {
        send({}, 0, comm, 3);
    } else {
        for (int i = 1; i < comm.size(); ++i) {
            MPI_CHECK(
                MPI_Recv(nullptr, 0, MPI_FLOAT, MPI_ANY_SOURCE, 3, comm.handle(), MPI_STATUS_IGNORE)
            );
        }
    }
    broadcast({}, 0, comm);
}

void dissemination_barrier(const Communicator& comm) {
    const int p = comm.size();
    for (int distance = 1; distance < p; distance *= 2) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int dst = (comm.rank() + distance) % p;
        MPI_CHECK(MPI_Isend(nullptr, 0, MPI_FLOAT, dst, 0, comm.handle(), &request));
        recv({}, (comm.rank() - distance + p) % p, comm);
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
