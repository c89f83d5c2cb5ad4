// Adds the gradients up and does not divide: the rate of learning grows with the number of ranks.
// state: fail
// says: that is the sum, and one step would go to 1.4
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    std::int64_t n = 0;
    for (const at::Tensor& parameter : parameters) {
        if (!parameter.grad().defined()) {
            parameter.mutable_grad() = at::zeros_like(parameter);
        }
        n += parameter.numel();
    }
    const at::Tensor flat = at::empty({n}, at::kFloat);
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : parameters) {
        flat.narrow(0, begin, parameter.numel()).copy_(parameter.grad().reshape(-1));
        begin += parameter.numel();
    }
    ring_all_reduce({flat.data_ptr<float>(), static_cast<std::size_t>(n)}, ReduceOp::sum, comm);
    begin = 0;
    for (const at::Tensor& parameter : parameters) {
        parameter.grad().copy_(flat.narrow(0, begin, parameter.numel()).view_as(parameter));
        begin += parameter.numel();
    }
}

}  // namespace dist
