// Everyone sends, then everyone receives.
// state: hang
// says: every rank sends first
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
    for (int distance = 1; distance < p; distance *= 2) {
        send({}, (comm.rank() + distance) % p, comm);
        recv({}, (comm.rank() - distance + p) % p, comm);
    }
}

}  // namespace dist
