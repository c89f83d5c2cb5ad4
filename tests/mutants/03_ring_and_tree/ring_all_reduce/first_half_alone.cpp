// Calls the reduce-scatter and forgets the all-gather: one chunk is finished on each rank.
// state: fail
// says: a chunk of an earlier step that the finished one has not replaced
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    ring_reduce_scatter(data, op, comm);
}

}  // namespace dist
