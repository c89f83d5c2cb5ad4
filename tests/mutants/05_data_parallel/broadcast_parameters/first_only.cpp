// Broadcasts the first tensor and forgets the others.
// state: fail
// says: that is what this rank had before: nothing came
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters.first(1)) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, root, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
