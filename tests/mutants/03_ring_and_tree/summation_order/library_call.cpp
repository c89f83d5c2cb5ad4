// MPI adds the ranks' own sums.
// state: forbidden
// says: A library's reduction adds in an order of its own
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    float sum = 0.0F;
    for (const float x : part) {
        sum += x;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_FLOAT, MPI_SUM, comm.handle()));
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
