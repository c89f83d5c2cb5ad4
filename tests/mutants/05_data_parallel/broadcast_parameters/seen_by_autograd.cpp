// Copies into a leaf that requires a gradient, before the eyes of autograd.
// state: fail
// says: a leaf Variable that requires grad
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter;
        const at::Tensor flat = weights.detach().clone().contiguous();
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, root, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
