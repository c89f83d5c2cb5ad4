#include "exercises/02_naive_collectives/barrier.hpp"

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

// TODO: two barriers, from messages without content: send({}, dst, comm) sends no floats at all.
// The first goes through rank 0, there and back. The second has no root: see the header for who
// sends to whom; each step is a send and a receive at the same time.
void barrier(const Communicator& comm) {
    throw NotImplemented("barrier");
}

void dissemination_barrier(const Communicator& comm) {
    throw NotImplemented("dissemination_barrier");
}

}  // namespace dist
