// Around the circle: rank 0, too, waits for the rank before it.
// state: hang
// says: waits in MPI_Recv
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    float sum = 0.0F;
    if (p > 1) {
        recv({&sum, 1}, (r + p - 1) % p, comm);
    }
    for (const float x : part) {
        sum += x;
    }
    if (p > 1) {
        send({&sum, 1}, (r + 1) % p, comm);
    }
    broadcast({&sum, 1}, p - 1, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
