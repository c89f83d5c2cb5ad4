// Exercise 05: after backward and before the optimizer's step, all ranks average their gradients.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Replaces every parameter's gradient by its mean over all ranks: the step that makes training
/// data parallel.
///
/// parameters  the model's tensors, float32 on the CPU, any shape; the same shapes in the same
///             order on every rank. Only their gradients change. A gradient may lie in memory in
///             any way, also expanded (one number stands for many), and may be undefined (this
///             rank did not use the parameter): it counts as zeros, and is defined afterwards.
/// comm        collective: every rank of `comm` makes this call.
///
/// Cost        one ring all-reduce over all gradients together, n elements: 2(p-1) messages per
///             rank, however many parameters there are, and at most 2(p-1)ceil(n/p) floats.
/// Errors      dist::Error if a message fails.
/// Source      Li et al. (2020), "PyTorch Distributed: Experiences on Accelerating Data Parallel
///             Training", section 3.
void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm);

}  // namespace dist
