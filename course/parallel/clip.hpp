// Gradients scaled down to a norm, as torch.nn.utils.clip_grad_norm_ does: --clip-norm.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

namespace dist::trainer {

/// The sum of the squares of all gradients; parameters that have none are left out.
double squared_norm(std::span<const at::Tensor> parameters);

/// Scales the gradients so that what has the norm `norm` has at most `limit`.
void clip_to(double limit, double norm, std::span<const at::Tensor> parameters);

}  // namespace dist::trainer
