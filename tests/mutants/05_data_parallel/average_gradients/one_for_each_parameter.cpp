// One all-reduce for each parameter: the right mean, and all latencies once more for each.
// state: fail in is one all-reduce, however many parameters there are
// says: one for each parameter waits for all its latencies again
#include <ATen/ops/zeros_like.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    for (const at::Tensor& parameter : parameters) {
        if (!parameter.grad().defined()) {
            parameter.mutable_grad() = at::zeros_like(parameter);
        }
        const at::Tensor row = parameter.grad().contiguous();
        const auto n = static_cast<std::size_t>(row.numel());
        ring_all_reduce({row.data_ptr<float>(), n}, ReduceOp::mean, comm);
        parameter.grad().copy_(row);
    }
}

}  // namespace dist
