// Counts an undefined gradient as zeros, but leaves it undefined: replicas drift apart.
// state: fail
// says: Rank 0 had no gradient for parameter 1
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
        if (parameter.grad().defined()) {
            flat.narrow(0, begin, parameter.numel()).copy_(parameter.grad().reshape(-1));
        }
        begin += parameter.numel();
    }
    ring_all_reduce({flat.data_ptr<float>(), static_cast<std::size_t>(n)}, ReduceOp::mean, comm);
    begin = 0;
    for (const at::Tensor& parameter : parameters) {
        if (!parameter.grad().defined()) {
            begin += parameter.numel();
            continue;
        }
        parameter.grad().copy_(flat.narrow(0, begin, parameter.numel()).view_as(parameter));
        begin += parameter.numel();
    }
}

}  // namespace dist
