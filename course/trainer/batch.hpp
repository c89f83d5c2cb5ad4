// Pictures as tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <span>

#include "course/data/augment.hpp"
#include "course/data/cifar10.hpp"

namespace dist::trainer {

/// What the model sees, and what it should say.
struct Batch {
    at::Tensor pictures;  ///< (B, 3, 32, 32) float32, normalised
    at::Tensor labels;    ///< (B) int64
};

/// Makes a batch of the pictures with these numbers.
///
/// view  how the picture of a number is cropped and mirrored.
Batch make_batch(
    const data::PictureSet& pictures,
    std::span<const std::size_t> numbers,
    const std::function<data::View(std::size_t)>& view
);

}  // namespace dist::trainer
