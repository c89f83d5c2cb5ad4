// Examples as tensors.
#pragma once

#include <ATen/core/Tensor.h>

namespace dist::nn {

/// B examples: what the model sees, and what it should say. Of pictures (B, 3, 32, 32) float32, normalised, and a class each; of
/// text (B, T) tokens, int64, and those that follow them.
struct Batch {
    at::Tensor inputs;
    at::Tensor labels;  ///< (B) or (B, T) int64
};

}  // namespace dist::nn
