// The result stays on the last rank.
// state: fail
// says: the sum so far, not the result
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int r = comm.rank();
    float sum = 0.0F;
    if (r > 0) {
        recv({&sum, 1}, r - 1, comm);
    }
    for (const float x : part) {
        sum += x;
    }
    if (r < comm.size() - 1) {
        send({&sum, 1}, r + 1, comm);
    }
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
