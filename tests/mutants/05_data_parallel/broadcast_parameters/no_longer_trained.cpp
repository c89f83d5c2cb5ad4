// Switches requires_grad off so that autograd does not complain, and leaves it off.
// state: fail
// says: a parameter stays a leaf that requires a gradient
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.requires_grad_(false);
        const at::Tensor flat = weights.contiguous();
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, root, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
