#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    // TODO: in p-1 steps, pass a chunk on with ring_shift, and accumulate what comes in into the
    // chunk it belongs to. Rank r is to finish chunk r. So which chunk comes in last, and which
    // one leaves in step s? For the mean, scale what is finished.
    throw NotImplemented("ring_reduce_scatter");
}

}  // namespace dist
