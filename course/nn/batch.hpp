// Examples as tensors.
#pragma once

#include <ATen/core/Tensor.h>

namespace dist::nn {

/// B examples: what the model sees, and what it should say.
struct Batch {
    at::Tensor pictures;  ///< (B, 3, 32, 32) float32, normalised
    at::Tensor labels;    ///< (B) int64
};

}  // namespace dist::nn
