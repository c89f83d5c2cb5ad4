// The sum so far travels from the last rank to rank 0.
// state: fail
// says: the last rank's elements first
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int r = comm.rank();
    float sum = 0.0F;
    if (r < comm.size() - 1) {
        recv({&sum, 1}, r + 1, comm);
    }
    for (const float x : part) {
        sum += x;
    }
    if (r > 0) {
        send({&sum, 1}, r - 1, comm);
    }
    broadcast({&sum, 1}, 0, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
