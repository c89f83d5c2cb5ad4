#include "exercises/05_data_parallel/simple_model.hpp"

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void simple_model(const at::Tensor& x, double rate, ReduceOp op, const Communicator& comm) {
    // TODO: forward: the loss is x.sub(r).square(). backward() adds to x.grad(), which may hold the
    // last step's. Combine that one float on all ranks. The step itself must not be seen by autograd.
    throw NotImplemented("simple_model");
}

}  // namespace dist
