// A tree: the ranks' own sums are added in pairs.
// state: fail
// says: each rank's own sum first
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    float sum = 0.0F;
    for (const float x : part) {
        sum += x;
    }
    for (int distance = 1; distance < p; distance *= 2) {
        if (r % (2 * distance) == distance) {
            send({&sum, 1}, r - distance, comm);
            break;
        }
        if (r + distance < p) {
            float incoming = 0.0F;
            recv({&incoming, 1}, r + distance, comm);
            sum += incoming;
        }
    }
    broadcast({&sum, 1}, 0, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
