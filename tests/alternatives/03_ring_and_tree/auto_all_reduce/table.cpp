// The functions stand in a table, in the order of the enum.
#include <algorithm>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

AllReduceAlgorithm choose(std::size_t bytes, int p, LinkCost link) {
    double times[4] = {};
    for (int i = 0; i < 4; ++i) {
        times[i] = predicted_s(static_cast<AllReduceAlgorithm>(i), bytes, p, link);
    }
    return static_cast<AllReduceAlgorithm>(std::min_element(times, times + 4) - times);
}

void auto_all_reduce(std::span<float> data, ReduceOp op, LinkCost link, const Communicator& comm) {
    constexpr void (*kAll[])(std::span<float>, ReduceOp, const Communicator&) = {
        all_reduce, ring_all_reduce, recursive_doubling_all_reduce, halving_doubling_all_reduce};
    kAll[static_cast<int>(choose(data.size_bytes(), comm.size(), link))](data, op, comm);
}

}  // namespace dist
