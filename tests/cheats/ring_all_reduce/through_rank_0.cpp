// Everything on one rank, and then to all others: right, and no ring.
// state: fail
// says: neighbour

#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    reduce(data, op, 0, comm);
    broadcast(data, 0, comm);
}

}  // namespace dist
