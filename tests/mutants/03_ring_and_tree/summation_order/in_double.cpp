// Adds in double precision, which rounds less, and so gives other bits.
// state: fail
// says: double precision
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    double total = 0.0;
    int r = comm.rank();
    if (r > 0) {
        MPI_CHECK(MPI_Recv(&total, 1, MPI_DOUBLE, r - 1, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
    for (const float x : part) {
        total += x;
    }
    if (r < comm.size() - 1) {
        MPI_CHECK(MPI_Send(&total, 1, MPI_DOUBLE, r + 1, 0, comm.handle()));
    }
    auto sum = static_cast<float>(total);
    broadcast({&sum, 1}, comm.size() - 1, comm);
    return sum;
}

std::vector<float> order_matters() {
    return {0x1p24F, 1.0F, 1.0F};
}

}  // namespace dist
