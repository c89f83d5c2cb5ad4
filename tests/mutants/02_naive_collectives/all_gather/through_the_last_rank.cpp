// Through one rank, and back; but it is not rank 0.
// state: fail
// says: gather to rank 0
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int root = comm.size() - 1;
    gather(in, out, root, comm);
    broadcast(out, root, comm);
}

}  // namespace dist
