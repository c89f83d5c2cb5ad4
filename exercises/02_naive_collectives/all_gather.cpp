#include "exercises/02_naive_collectives/all_gather.hpp"

#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    // TODO: collect all chunks on rank 0, and hand the whole out from there. You have built both
    // halves already.
    throw NotImplemented("all_gather");
}

}  // namespace dist
