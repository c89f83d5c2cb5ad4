// Divides the mean, which the reduce-scatter has divided already.
// state: fail
// says: that was divided by p twice
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    ring_reduce_scatter(data, op, comm);
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(comm.size()));
    }
    ring_all_gather(data, comm);
}

}  // namespace dist
