#include "exercises/05_data_parallel/broadcast_parameters.hpp"

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "broadcast_parameters: root must be a rank of comm");
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();  // the same memory, unseen by autograd
        const at::Tensor flat = weights.contiguous();   // the same again, unless a copy is needed
        const auto n = static_cast<std::size_t>(flat.numel());
        broadcast({flat.data_ptr<float>(), n}, root, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
