// The broadcast comes before the gather: rank 0 hands out what it does not have yet.
// state: fail
// says: element 0 of rank 0's in belongs here
// says: nothing was written
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    broadcast(out, 0, comm);
    gather(in, out, 0, comm);
}

}  // namespace dist
