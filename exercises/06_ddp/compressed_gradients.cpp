#include "exercises/06_ddp/compressed_gradients.hpp"

namespace dist {

void compressed_all_reduce(const at::Tensor& flat, const Communicator& comm) {
    // TODO: your collectives carry floats, and two bfloat16 have the bytes of one. Which collective sends each
    // rank the chunk that it is to add up, and which collects the sums?
    throw NotImplemented("compressed_gradients");
}

CommHook compressed_hook(const Communicator& comm) {
    throw NotImplemented("compressed_gradients");
}

CommHook error_feedback_hook(const Communicator& comm) {
    throw NotImplemented("compressed_gradients");
}

}  // namespace dist
