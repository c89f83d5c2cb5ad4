#include "exercises/05_data_parallel/broadcast_parameters.hpp"

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    // TODO: the root's bits into every tensor, whatever they stand for and however they lie in memory.
    // Your broadcast takes floats, and only copies them. Autograd must not see any of it.
    throw NotImplemented("broadcast_parameters");
}

}  // namespace dist
