// Every rank gets the mean of all, not the root's numbers: replicas agree, on the wrong model.
// state: fail
// says: that is the mean of all ranks
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "broadcast_parameters: root must be a rank of comm");
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        const auto n = static_cast<std::size_t>(flat.numel());
        all_reduce({flat.data_ptr<float>(), n}, ReduceOp::mean, comm);
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
