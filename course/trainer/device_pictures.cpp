#include "course/trainer/device_pictures.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <algorithm>
#include <cstdint>

namespace dist::trainer {

namespace {

constexpr auto kSide = static_cast<std::int64_t>(data::kSide);
constexpr std::int64_t kBytes = 256;  // values

}  // namespace

DevicePictures::DevicePictures(const data::PictureSet& pictures, at::Device device) {
    const auto n = static_cast<std::int64_t>(pictures.size());
    const at::Tensor bytes = at::empty({n, 3, kSide * kSide}, at::kByte);
    const at::Tensor labels = at::empty({n}, at::kLong);
    auto* next = bytes.data_ptr<std::uint8_t>();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        next = std::ranges::copy(pictures.picture(i), next).out;
        labels.data_ptr<std::int64_t>()[i] = pictures.label(i);
    }
    const at::Tensor floats = at::empty({3 * kBytes}, at::kFloat);
    auto* next_float = floats.data_ptr<float>();
    for (const auto& colour : data::normalised_bytes()) {
        next_float = std::ranges::copy(colour, next_float).out;
    }
    bytes_ = bytes.to(device);
    floats_ = floats.to(device);
    colour_ = at::arange(0, 3 * kBytes, kBytes).unsqueeze(1).to(device);
    labels_ = labels.to(device);
    const at::Tensor pixel = at::arange(kSide * kSide).to(device);
    row_ = pixel.div(kSide, "floor");
    column_ = pixel.remainder(kSide);
}

nn::Batch DevicePictures::batch(
    std::span<const std::size_t> numbers, std::span<const data::View> views
) const {
    const auto size = static_cast<std::int64_t>(numbers.size());
    const bool far = !bytes_.is_cpu();
    // (4, B), in one message: number, down, right, mirrored
    at::Tensor wanted = at::empty({4, size}, at::TensorOptions(at::kLong).pinned_memory(far));
    auto* const out = wanted.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < size; ++i) {
        const data::View& view = views[static_cast<std::size_t>(i)];
        out[i] = static_cast<std::int64_t>(numbers[static_cast<std::size_t>(i)]);
        out[size + i] = view.down;
        out[2 * size + i] = view.right;
        out[3 * size + i] = view.mirrored ? 1 : 0;
    }
    wanted = wanted.to(bytes_.device(), /*non_blocking=*/true);
    const auto column_of = [&](std::int64_t which) { return wanted[which].unsqueeze(1); };

    // (B, 1024): where each pixel comes from; black comes in at the edges
    const at::Tensor mirrored = at::where(column_of(3).eq(1), kSide - 1 - column_, column_);
    const at::Tensor y = row_ - column_of(1);
    const at::Tensor x = mirrored - column_of(2);
    const at::Tensor seen = y.ge(0) & y.lt(kSide) & x.ge(0) & x.lt(kSide);
    const at::Tensor from = (y * kSide + x) * seen;
    const at::Tensor chosen =
        bytes_.index_select(0, wanted[0]).gather(2, from.unsqueeze(1).expand({size, 3, -1}));
    const at::Tensor pixels = floats_.take(chosen * seen.unsqueeze(1) + colour_);
    return {pixels.view({size, 3, kSide, kSide}), labels_.index_select(0, wanted[0])};
}

}  // namespace dist::trainer
