// Exercise 06: a branch that was not taken: which gradients will not come.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Walks the graph that autograd has recorded, from the loss back to the leaves: which parameters it
/// does not lead to. What Reducer::prepare_for_backward() wants to know.
///
/// loss        what backward() will be called on; any shape.
/// parameters  leaves that require gradients.
/// Returns     the numbers of the parameters that are not reached, ascending. All of them where no
///             gradient is recorded for the loss. Neither the loss nor the graph is changed.
///
/// Cost        each node of the graph once, however many ways lead to it; depth of the graph does not
///             matter: a million operations in a row are all right. No message.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, search_unused_parameters.
std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
);

/// Which parameters no rank uses. Their gradients are the mean of nothing: the optimizer has to leave
/// these parameters as they are (with weight decay or momentum, a gradient of zeros moves them).
///
/// unused      this rank's, as unused_parameters() gives them; another list on each rank.
/// parameters  how many there are, n; the same on every rank.
/// comm        collective: every rank of `comm` makes this call.
/// Returns     the numbers that are in `unused` on all ranks, ascending; the same on every rank.
///
/// Cost        one ring all-reduce of n floats.
/// Errors      std::invalid_argument, before any message, if a number is not below n; dist::Error if a
///             message fails.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, local_used_map_.
std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
);

}  // namespace dist
