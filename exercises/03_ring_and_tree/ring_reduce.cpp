#include "exercises/03_ring_and_tree/ring_reduce.hpp"

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

void ring_reduce(
    std::span<float> data, ReduceOp op, int root, int segments, const Communicator& comm
) {
    // TODO: ring_broadcast's pipeline, but the rank after the root starts, and each one adds its
    // own segment to what came in before it passes that on. data must not change but on the root:
    // where does the partial result live while it leaves, and the next one comes in?
    throw NotImplemented("ring_reduce");
}

}  // namespace dist
