#include "exercises/02_naive_collectives/scatter.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    // TODO: the root sends chunk i of `in` to rank i, and copies its own into `out`; every other
    // rank receives `out` from the root. chunk_bounds(in.size(), p, i) says where chunk i lies.
    throw NotImplemented("scatter");
}

}  // namespace dist
