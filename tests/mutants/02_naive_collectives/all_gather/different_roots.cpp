// Gathered on the last rank, handed out from rank 0.
// state: fail
// says: nothing was written
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    gather(in, out, comm.size() - 1, comm);
    broadcast(out, 0, comm);
}

}  // namespace dist
