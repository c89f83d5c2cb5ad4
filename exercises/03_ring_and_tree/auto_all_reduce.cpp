#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

AllReduceAlgorithm choose(std::size_t bytes, int p, LinkCost link) {
    // TODO: ask predicted_s for each of the four, and keep the best. Then auto_all_reduce runs it:
    // which size does the model want, and of which communicator is p?
    throw NotImplemented("choose");
}

void auto_all_reduce(std::span<float> data, ReduceOp op, LinkCost link, const Communicator& comm) {
    throw NotImplemented("auto_all_reduce");
}

}  // namespace dist
