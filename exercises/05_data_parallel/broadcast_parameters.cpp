#include "exercises/05_data_parallel/broadcast_parameters.hpp"

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    // TODO: broadcast every tensor's bytes: data_ptr() and nbytes(), once it is contiguous. One that
    // is not needs a contiguous copy, and the way back. Your broadcast takes floats, and only copies
    // them: they may stand for anything. Autograd must not see any of it.
    throw NotImplemented("broadcast_parameters");
}

}  // namespace dist
