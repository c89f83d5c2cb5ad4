#include "exercises/08_model_parallel/sequence_parallel.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

at::Tensor gather_from_sequence_parallel_region(
    const at::Tensor& x, const Communicator& comm, Placement gradient
) {
    // TODO: three of these functions say how the ranks hold a tensor, and how they will: write them with redistribute.
    // The column layer has to choose what it keeps for backward, so it is an operation of its own.
    // Given: torch::autograd::Function; at::detail::getDefaultCPUGenerator(), to be used under its mutex().
    throw NotImplemented("gather_from_sequence_parallel_region");
}

at::Tensor reduce_scatter_to_sequence_parallel_region(
    const at::Tensor& partial, const Communicator& comm
) {
    throw NotImplemented("reduce_scatter_to_sequence_parallel_region");
}

at::Tensor scatter_to_sequence_parallel_region(const at::Tensor& x, const Communicator& comm) {
    throw NotImplemented("scatter_to_sequence_parallel_region");
}

at::Tensor sequence_parallel_column_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
) {
    throw NotImplemented("sequence_parallel_column_linear");
}

at::Tensor sequence_parallel_row_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
) {
    throw NotImplemented("sequence_parallel_row_linear");
}

void all_reduce_sequence_parallel_gradients(
    std::span<const at::Tensor> parameters, const Communicator& comm
) {
    throw NotImplemented("all_reduce_sequence_parallel_gradients");
}

ShardedRandom::ShardedRandom(const Communicator& comm) {
    throw NotImplemented("ShardedRandom");
}

ShardedRandom::~ShardedRandom() = default;

}  // namespace dist
