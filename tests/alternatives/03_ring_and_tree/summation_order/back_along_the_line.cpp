// The result goes back the way that the sum came.
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int r = comm.rank();
    const int last = comm.size() - 1;
    float sum = 0.0F;
    if (r > 0) {
        recv({&sum, 1}, r - 1, comm);
    }
    for (const float x : part) {
        sum += x;
    }
    if (r < last) {
        send({&sum, 1}, r + 1, comm);
        recv({&sum, 1}, r + 1, comm);
    }
    if (r > 0) {
        send({&sum, 1}, r - 1, comm);
    }
    return sum;
}

std::vector<float> order_matters() {
    return {1e10F, -1e10F, 1.0F};  // 1; from behind 1 is lost: 0
}

}  // namespace dist
