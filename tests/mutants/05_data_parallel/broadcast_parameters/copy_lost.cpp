// What arrives in the contiguous copy never gets back into the tensor.
// state: fail
// says: what arrives in the copy must get back
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, root, comm);
    }
}

}  // namespace dist
