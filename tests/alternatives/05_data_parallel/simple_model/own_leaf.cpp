// A leaf of its own for the loss, with memory and a gradient of its own; x gets a copy of that gradient.
#include <ATen/TensorOperators.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/simple_model.hpp"

namespace dist {

void simple_model(const at::Tensor& x, double rate, ReduceOp op, const Communicator& comm) {
    expects(op == ReduceOp::mean || op == ReduceOp::sum, "simple_model: op must be mean or sum");
    expects(x.numel() == 1, "simple_model: x must have exactly one element");
    const at::Tensor weight = x.detach().clone().requires_grad_();
    weight.sub(comm.rank()).square().sum().backward();
    const at::Tensor gradient = weight.grad();
    ring_all_reduce({gradient.data_ptr<float>(), 1}, op, comm);
    x.mutable_grad() = gradient.clone();
    x.detach().copy_(weight.detach() - gradient * rate);
}

}  // namespace dist
