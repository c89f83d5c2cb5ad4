// A model with other tensors in the place of its own.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>
#include <vector>

#include "course/nn/model.hpp"

namespace dist::nn {

/// model.parameters(), then model.buffers(): the places of functional_call().
std::vector<at::Tensor> tensors_of(const Model& model);

/// model.forward(inputs), computed with these tensors. backward() from what it returns goes on to
/// whatever they were made from.
///
/// model    has a place for each tensor. It shares their memory from now on: what its forward writes
///          into buffers stands in them afterwards.
/// tensors  in the order of tensors_of(model), each of the same shape.
///
/// Cost     no copy.
/// Source   PyTorch, torch.func.functional_call.
at::Tensor functional_call(
    Model& model, std::span<const at::Tensor> tensors, const at::Tensor& inputs
);

}  // namespace dist::nn
