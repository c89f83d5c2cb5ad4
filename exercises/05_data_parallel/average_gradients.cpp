#include "exercises/05_data_parallel/average_gradients.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    // TODO: copy all gradients into one flat row of floats, average that with ring_all_reduce, copy
    // it back. parameter.grad() may be undefined: ask with defined(). parameter.mutable_grad() can
    // be assigned.
    throw NotImplemented("average_gradients");
}

}  // namespace dist
