// Gathers first, then reduces: the contributions are mixed before anything is summed.
// state: fail
// says: chunks were gathered before they were reduced
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    ring_all_gather(data, comm);
    ring_reduce_scatter(data, op, comm);
}

}  // namespace dist
