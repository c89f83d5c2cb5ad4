// Exercise 05: all replicas of a model start from the same weights.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Copies the root's parameters to every rank, in place: afterwards every replica holds the same
/// numbers, bit for bit.
///
/// parameters  the model's tensors on the CPU, parameters as well as buffers (statistics and counters
///             of normalisations): any dtype, any shape, contiguous or not, on each rank in its own
///             way; the same dtypes and shapes in the same order on every rank. They stay where they
///             are: an optimizer that holds them sees the new numbers. Their gradients stay, and
///             those that require a gradient still do, also after an error.
/// root        the rank whose numbers everybody gets; the same on every rank.
/// comm        collective: every rank of `comm` makes this call.
///
/// Cost        one broadcast for each tensor: p-1 messages from the root, with all its bytes, made
///             up to a whole number of floats.
/// Errors      std::invalid_argument, before any message, if root is not a rank of comm, even where
///             there is no parameter to send; dist::Error if a message fails.
/// Source      Li et al. (2020), "PyTorch Distributed: Experiences on Accelerating Data Parallel
///             Training", section 3: DistributedDataParallel does this when it is constructed.
void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
);

}  // namespace dist
