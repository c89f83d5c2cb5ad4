// Only rank 0 gets the whole.
// state: fail
// says: nothing was written
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    gather(in, out, 0, comm);
}

}  // namespace dist
