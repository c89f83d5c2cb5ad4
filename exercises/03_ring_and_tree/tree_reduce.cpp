#include "exercises/03_ring_and_tree/tree_reduce.hpp"

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    // TODO: tree_broadcast backwards: the last round first, and each message the other way. Whoever
    // received now sends. Where does a rank that is not the root keep its partial result?
    throw NotImplemented("tree_reduce");
}

}  // namespace dist
