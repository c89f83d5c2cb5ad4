// The mean as a sum of gradients that are divided before they are sent; the old gradient becomes zero in
// its place; requires_grad is off for the step.
#include <ATen/TensorOperators.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/simple_model.hpp"

namespace dist {

void simple_model(const at::Tensor& x, double rate, ReduceOp op, const Communicator& comm) {
    expects(x.numel() == 1, "simple_model: x must have exactly one element");
    expects(op == ReduceOp::mean || op == ReduceOp::sum, "simple_model: op must be mean or sum");
    if (x.grad().defined()) {
        x.mutable_grad().zero_();
    }
    const at::Tensor loss = (x - comm.rank()).pow(2);
    loss.backward();
    float share = x.grad().item<float>();
    if (op == ReduceOp::mean) {
        share /= static_cast<float>(comm.size());
    }
    ring_all_reduce({&share, 1}, ReduceOp::sum, comm);
    x.grad().fill_(share);
    x.requires_grad_(false);
    x.add_(x.grad(), -rate);
    x.requires_grad_(true);
}

}  // namespace dist
