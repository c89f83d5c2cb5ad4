// A data set in the memory of a device, as bytes: batches are cut out of it, and augmented, there.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

#include "course/data/augment.hpp"
#include "course/data/cifar10.hpp"
#include "course/nn/batch.hpp"

namespace dist::trainer {

/// (N, 3, 32, 32) bytes and N labels on a GPU, or any other device.
class DevicePictures {
  public:
    DevicePictures(const data::PictureSet& pictures, at::Device device);

    /// What make_batch() makes on the host, bit for bit. Returns before it is there: the host waits
    /// for nothing.
    ///
    /// views  of each picture, how it is cropped and mirrored.
    ///
    /// Cost   32 bytes a picture from the host to the device.
    [[nodiscard]] nn::Batch batch(
        std::span<const std::size_t> numbers, std::span<const data::View> views
    ) const;

  private:
    at::Tensor bytes_;   // (N, 3, 1024)
    at::Tensor labels_;  // (N)
    at::Tensor floats_;  // (3 * 256): what the bytes of each colour become
    at::Tensor colour_;  // (3, 1): where each colour's begin
    at::Tensor row_;     // (1024): of each pixel
    at::Tensor column_;  // (1024)
};

}  // namespace dist::trainer
