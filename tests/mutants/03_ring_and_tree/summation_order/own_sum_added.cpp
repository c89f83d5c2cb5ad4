// Each rank adds up its own elements first, then adds that to what came in.
// state: fail
// says: each rank's own sum first
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int r = comm.rank();
    const int last = comm.size() - 1;
    float mine = 0.0F;
    for (const float x : part) {
        mine += x;
    }
    float sum = 0.0F;
    if (r > 0) {
        recv({&sum, 1}, r - 1, comm);
    }
    sum += mine;
    if (r < last) {
        send({&sum, 1}, r + 1, comm);
    }
    broadcast({&sum, 1}, last, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
