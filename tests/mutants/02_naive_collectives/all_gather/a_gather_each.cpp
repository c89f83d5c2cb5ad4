// A gather for every root: right, but p(p - 1) messages.
// state: fail
// says: Anything else is another algorithm
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    for (int root = 0; root < comm.size(); ++root) {
        gather(in, out, root, comm);
    }
}

}  // namespace dist
