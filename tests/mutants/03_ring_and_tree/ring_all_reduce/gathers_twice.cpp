// Gathers once more, to be sure: right, and half as many messages again.
// state: fail
// says: FAIL  ring_all_reduce sends at most 2(p-1) messages
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    ring_reduce_scatter(data, op, comm);
    ring_all_gather(data, comm);
    ring_all_gather(data, comm);
}

}  // namespace dist
