#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    // TODO: count places from the root. For d = 1, 2, 4, ...: which places have the data already,
    // and send it d places on? Which receive it now? Which have to wait for a later round?
    throw NotImplemented("tree_broadcast");
}

}  // namespace dist
