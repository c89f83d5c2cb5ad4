// Exercise 08: activations that forward throws away, and backward computes again. Memory for time.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// A part of a model: a layer, a block, several of them. Besides its inputs it may read leaves, such as parameters.
using Module = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

/// module(inputs): values, gradients and random numbers as if it had been called, bit for bit. But nothing of what it
/// computes is kept for backward. Instead backward calls it once more, with the same random numbers, and goes back
/// through that. PyTorch calls it activation checkpointing.
///
/// The inputs that require a gradient and the leaves that module reads get theirs from the backward that is running,
/// so that gradients add up and hooks are called as ever. If none requires a gradient, the result does not.
///
/// module  called once here; and, if the result requires a gradient, once in each backward that comes to it, with
///         autograd on. It is given leaves with the memory of the inputs. It may call recompute. With Zero3 recompute
///         stands within forward(unit, ...), not around it.
/// inputs  of any dtype and number; some may require no gradient.
///
/// Random numbers are those of LibTorch's default generator on the host. In backward module gets those of its first
/// call, and autocast is what it was then. Afterwards the generator, autocast and autograd's mode are what they were
/// before, also if module throws.
///
/// Cost    each backward: one call of module. Kept for it: the inputs, and the generator's state (5 KB). While module
///         runs, and in backward until it has gone through: what module keeps for backward. Autocast does not keep
///         narrow copies of inputs.
/// Errors  what module throws, here or out of backward. Out of backward: c10::Error if an input or a leaf was changed
///         in place since; std::logic_error if it is to be differentiated again (create_graph).
/// Source  Chen et al. (2016), "Training deep nets with sublinear memory cost".
at::Tensor recompute(const Module& module, const std::vector<at::Tensor>& inputs);

}  // namespace dist
