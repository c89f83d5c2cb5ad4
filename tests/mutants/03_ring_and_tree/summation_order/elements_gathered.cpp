// All elements travel to rank 0, which adds them: right, with n floats on the way in the place of one.
// state: fail in ordered_sum sends sums, not elements: one float to each rank but the first, and
// says: the sum so far (all but rank 0)
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int p = comm.size();
    float sum = 0.0F;
    if (comm.rank() != 0) {
        const auto n = static_cast<float>(part.size());
        send({&n, 1}, 0, comm);
        send(part, 0, comm);
    } else {
        for (const float x : part) {
            sum += x;
        }
        for (int src = 1; src < p; ++src) {
            float n = 0.0F;
            recv({&n, 1}, src, comm);
            std::vector<float> elements(static_cast<std::size_t>(n));
            recv(elements, src, comm);
            for (const float x : elements) {
                sum += x;
            }
        }
    }
    broadcast({&sum, 1}, 0, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
