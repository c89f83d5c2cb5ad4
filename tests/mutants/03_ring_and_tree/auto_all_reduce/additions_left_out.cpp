// As if additions cost nothing.
// state: fail
// says: where is gamma?
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

AllReduceAlgorithm choose(std::size_t bytes, int p, LinkCost link) {
    using enum AllReduceAlgorithm;
    link.gamma_s_per_byte = 0.0;
    AllReduceAlgorithm best = naive;
    for (const auto other : {ring, recursive_doubling, halving_doubling}) {
        if (predicted_s(other, bytes, p, link) < predicted_s(best, bytes, p, link)) {
            best = other;
        }
    }
    return best;
}

void auto_all_reduce(std::span<float> data, ReduceOp op, LinkCost link, const Communicator& comm) {
    switch (choose(data.size_bytes(), comm.size(), link)) {
        case AllReduceAlgorithm::naive:
            return all_reduce(data, op, comm);
        case AllReduceAlgorithm::ring:
            return ring_all_reduce(data, op, comm);
        case AllReduceAlgorithm::recursive_doubling:
            return recursive_doubling_all_reduce(data, op, comm);
        case AllReduceAlgorithm::halving_doubling:
            return halving_doubling_all_reduce(data, op, comm);
    }
}

}  // namespace dist
