#include "exercises/05_data_parallel/average_gradients.hpp"

#include <ATen/ops/zeros.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    // TODO: average all gradients with one ring_all_reduce. parameter.grad() is a gradient, and
    // parameter.mutable_grad() can be assigned.
    throw NotImplemented("average_gradients");
}

}  // namespace dist
