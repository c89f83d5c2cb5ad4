#include "exercises/08_model_parallel/tensor_parallel.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

ColumnParallelLinear::ColumnParallelLinear(
    const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
)
    : comm_(comm) {
    throw NotImplemented("ColumnParallelLinear");
}

at::Tensor ColumnParallelLinear::forward(const at::Tensor& x) const {
    // TODO: what does autograd not know of, in forward and in backward? And which of backward's two products can
    // be computed while a message travels?
    // Given: torch::autograd::Function, and nn::floats(tensor) for the ring.
    throw NotImplemented("ColumnParallelLinear::forward");
}

RowParallelLinear::RowParallelLinear(
    const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
)
    : comm_(comm) {
    throw NotImplemented("RowParallelLinear");
}

at::Tensor RowParallelLinear::forward(const at::Tensor& x) const {
    throw NotImplemented("RowParallelLinear::forward");
}

at::Tensor tensor_parallel_mlp(
    const at::Tensor& x,
    const ColumnParallelLinear& column,
    const RowParallelLinear& row,
    const std::function<at::Tensor(const at::Tensor&)>& activation
) {
    throw NotImplemented("tensor_parallel_mlp");
}

}  // namespace dist
