#include "exercises/08_model_parallel/recompute.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <torch/csrc/autograd/autograd.h>

#include "course/nn/autocast_state.hpp"
#include "course/nn/graph.hpp"
#include "course/nn/with_backward.hpp"

namespace dist {

at::Tensor recompute(const Module& module, const std::vector<at::Tensor>& inputs) {
    // TODO: what does the second call need so that it does what the first did? Which tensors need a gradient that
    // nobody has handed in, and where are they to be found?
    // Given: nn::with_backward, nn::GraphNode, nn::AutocastState, at::detail::getDefaultCPUGenerator().
    throw NotImplemented("recompute");
}

}  // namespace dist
