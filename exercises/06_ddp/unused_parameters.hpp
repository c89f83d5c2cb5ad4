// Exercise 06: a branch that was not taken: which gradients will not come.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Walks the graph that autograd has recorded, from the loss back to the leaves, and names the parameters that it
/// does not lead to: what Reducer::prepare_for_backward() needs to know.
///
/// loss        what backward() will be called on; any shape.
/// parameters  leaves that require gradients. Who stands there twice has two numbers.
/// Returns     the numbers of the parameters that are not reached, ascending. All of them where no gradient is
///             recorded for the loss. Changes neither the loss nor the graph, and keeps nothing of it.
///
/// Cost        visits each node of the graph once, however many ways lead to it. The graph may be as deep as
///             memory allows. No message.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, search_unused_parameters.
std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
);

/// Names the parameters that no rank uses. Their gradients are the mean of nothing, and the optimizer has to leave
/// these parameters as they are: with weight decay or momentum, a gradient of zeros moves them.
///
/// unused      this rank's, as unused_parameters() gives them; another list on each rank.
/// parameters  how many there are, n; the same on every rank.
/// comm        collective: every rank of `comm` makes this call.
/// Returns     the numbers that are in `unused` on all ranks, ascending; the same on every rank.
///
/// Cost        one ring all-reduce of n floats.
/// Errors      std::invalid_argument, before any message, if a number is not below n; dist::Error if a message
///             fails.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, local_used_map_.
std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
);

}  // namespace dist
