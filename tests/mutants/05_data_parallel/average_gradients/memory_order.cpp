// Takes the memory behind data_ptr for the gradient's elements, although it is not contiguous.
// state: fail
// says: The elements in memory order are not the elements in the tensor's order
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <vector>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    std::vector<float> row;
    for (const at::Tensor& parameter : parameters) {
        if (!parameter.grad().defined()) {
            parameter.mutable_grad() = at::zeros_like(parameter);
        }
        const float* begin = parameter.grad().data_ptr<float>();
        row.insert(row.end(), begin, begin + parameter.numel());
    }
    ring_all_reduce(row, ReduceOp::mean, comm);
    const float* from = row.data();
    for (const at::Tensor& parameter : parameters) {
        std::copy_n(from, parameter.numel(), parameter.grad().data_ptr<float>());
        from += parameter.numel();
    }
}

}  // namespace dist
