#include "exercises/05_data_parallel/simple_model.hpp"

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void simple_model(const at::Tensor& x, double rate, ReduceOp op, const Communicator& comm) {
    expects(op == ReduceOp::mean || op == ReduceOp::sum, "simple_model: op must be mean or sum");
    expects(x.numel() == 1, "simple_model: x must have exactly one element");
    x.mutable_grad() = at::Tensor();  // backward() adds to what is there: the last step's
    x.sub(comm.rank()).square().backward();
    ring_all_reduce({x.grad().data_ptr<float>(), 1}, op, comm);
    x.detach().sub_(x.grad(), rate);  // the same memory, unseen by autograd
}

}  // namespace dist
