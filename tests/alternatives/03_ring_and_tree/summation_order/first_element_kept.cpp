// Rank 0 begins with its first element, not with 0; the result comes by messages from the last rank.
#include <numeric>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int r = comm.rank();
    const int last = comm.size() - 1;
    float sum = 0.0F;
    auto rest = part;
    if (r > 0) {
        recv({&sum, 1}, r - 1, comm, 5);
    } else if (!part.empty()) {
        sum = part.front();
        rest = part.subspan(1);
    }
    sum = std::accumulate(rest.begin(), rest.end(), sum);
    if (r < last) {
        send({&sum, 1}, r + 1, comm, 5);
        recv({&sum, 1}, last, comm, 6);
        return sum;
    }
    for (int dst = 0; dst < last; ++dst) {
        send({&sum, 1}, dst, comm, 6);
    }
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
