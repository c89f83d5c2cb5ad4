#include "exercises/02_naive_collectives/reduce_scatter.hpp"

#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    // TODO: reduce to rank 0, then scatter the result from there. reduce writes into its data on
    // the root, and `in` is not yours to change.
    throw NotImplemented("reduce_scatter");
}

}  // namespace dist
