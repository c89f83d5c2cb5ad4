// From bytes to what a network takes: normalised floats, in training cropped and mirrored at
// random.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "course/data/cifar10.hpp"

namespace dist::data {

/// What each byte becomes in each colour: normalised by the mean and deviation of CIFAR-10's training
/// set.
using NormalisedBytes = std::array<std::array<float, 256>, 3>;
const NormalisedBytes& normalised_bytes();

/// Which part of a picture is seen: it is moved by whole pixels, black comes in at the edges.
struct View {
    int down = 0;   ///< -4 to 4 pixels
    int right = 0;  ///< -4 to 4 pixels
    bool mirrored = false;
};

/// A random view: what "pad by 4, crop to 32, mirror every second time" does. It depends on these
/// numbers alone, so that a picture looks the same whichever rank has it.
View random_view(std::uint64_t seed, std::uint64_t epoch, std::uint64_t picture);

/// Writes a view of a picture as normalised floats.
///
/// picture  (3, 32, 32) bytes.
/// out      (3, 32, 32) float32.
void write_view(std::span<const std::uint8_t> picture, const View& view, std::span<float> out);

}  // namespace dist::data
