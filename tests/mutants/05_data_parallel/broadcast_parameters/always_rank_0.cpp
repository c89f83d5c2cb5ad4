// Broadcasts from rank 0, whatever root it is given.
// state: fail
// says: nothing came from the root, rank 1
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "broadcast_parameters: root must be a rank of comm");
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, 0, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
