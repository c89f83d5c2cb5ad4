// The row is the gradients' new home: each becomes a view into it, and nothing is copied back.
#include <ATen/ops/zeros.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    std::int64_t n = 0;
    for (const at::Tensor& parameter : parameters) {
        n += parameter.numel();
    }
    const at::Tensor flat = at::zeros({n}, at::kFloat);
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor view = flat.narrow(0, begin, parameter.numel()).view(parameter.sizes());
        if (parameter.grad().defined()) {
            view.copy_(parameter.grad());
        }
        parameter.mutable_grad() = view;
        begin += parameter.numel();
    }
    ring_all_reduce({flat.data_ptr<float>(), static_cast<std::size_t>(n)}, ReduceOp::mean, comm);
}

}  // namespace dist
