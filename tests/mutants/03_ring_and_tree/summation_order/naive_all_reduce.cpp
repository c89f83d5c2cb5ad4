// An all-reduce of the ranks' own sums.
// state: fail
// says: each rank's own sum first
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    float sum = 0.0F;
    for (const float x : part) {
        sum += x;
    }
    all_reduce({&sum, 1}, ReduceOp::sum, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
