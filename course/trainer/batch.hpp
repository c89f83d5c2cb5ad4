// Pictures as tensors.
#pragma once

#include <functional>
#include <span>

#include "course/data/augment.hpp"
#include "course/data/cifar10.hpp"
#include "course/nn/batch.hpp"

namespace dist::trainer {

/// Makes a batch of the pictures with these numbers.
///
/// view  how the picture of a number is cropped and mirrored.
nn::Batch make_batch(
    const data::PictureSet& pictures,
    std::span<const std::size_t> numbers,
    const std::function<data::View(std::size_t)>& view
);

}  // namespace dist::trainer
