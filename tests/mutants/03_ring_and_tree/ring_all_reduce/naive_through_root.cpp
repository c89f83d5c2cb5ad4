// Everything through rank 0: the right sum, and no ring at all.
// state: fail
// says: its neighbours on the ring
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    all_reduce(data, op, comm);
}

}  // namespace dist
