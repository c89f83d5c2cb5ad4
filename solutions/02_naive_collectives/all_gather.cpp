#include "exercises/02_naive_collectives/all_gather.hpp"

#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int root = 0;
    gather(in, out, root, comm);
    broadcast(out, root, comm);
}

}  // namespace dist
