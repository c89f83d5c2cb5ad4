// A mixture of experts in one process. Exercise expert_parallel does the same over ranks.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>

#include "course/nn/gpt_shape.hpp"

namespace dist::nn {

/// What an expert makes of tokens: (n, w) to (n, w).
using ExpertCall = std::function<at::Tensor(std::int64_t expert, const at::Tensor& tokens)>;

/// For each token the sum of probability * expert(token) over the experts with its highest scores.
/// An expert keeps its first tokens * choices / count * capacity_factor tokens, rounded up; the rest
/// gets 0 for it. Backward goes through the balance loss as well: see with_loss().
///
/// x        (n, w)
/// scores   (n, count): before softmax.
/// experts  each is called once, also if nobody has chosen it.
/// Returns  (n, w)
///
/// Source  Fedus, Zoph & Shazeer (2021), "Switch transformers: Scaling to trillion parameter models
///         with simple and efficient sparsity", section 2.
at::Tensor mixture(
    const at::Tensor& x,
    const at::Tensor& scores,
    const ExpertShape& shape,
    const ExpertCall& experts
);

}  // namespace dist::nn
