#include "course/data/augment.hpp"

#include <algorithm>
#include <array>

#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::data {

namespace {

constexpr int kPadding = 4;

// of the 50,000 training pictures, for values from 0 to 1
constexpr std::array kMean = {0.4914F, 0.4822F, 0.4465F};
constexpr std::array kDeviation = {0.2470F, 0.2435F, 0.2616F};

NormalisedBytes make_table() {
    NormalisedBytes table{};
    for (std::size_t colour = 0; colour < 3; ++colour) {
        for (std::size_t value = 0; value < 256; ++value) {
            table[colour][value] =
                (static_cast<float>(value) / 255.0F - kMean[colour]) / kDeviation[colour];
        }
    }
    return table;
}

}  // namespace

const NormalisedBytes& normalised_bytes() {
    static const NormalisedBytes table = make_table();
    return table;
}

View random_view(std::uint64_t seed, std::uint64_t epoch, std::uint64_t picture) {
    const std::uint64_t bits = seeded_bits(seeded_bits(seed, epoch), picture);
    const std::uint64_t places = 2 * kPadding + 1;
    return {
        .down = static_cast<int>(bits % places) - kPadding,
        .right = static_cast<int>(bits / places % places) - kPadding,
        .mirrored = bits >> 63U != 0,
    };
}

void write_view(std::span<const std::uint8_t> picture, const View& view, std::span<float> out) {
    const NormalisedBytes& table = normalised_bytes();
    expects(
        picture.size() == kPictureBytes && out.size() == kPictureBytes,
        "write_view: picture and out must be (3, 32, 32)"
    );
    const int width = kSide;
    auto to = out.begin();
    for (std::size_t colour = 0; colour < 3; ++colour) {
        const auto plane = picture.subspan(colour * kSide * kSide, kSide * kSide);
        for (int y = 0; y < width; ++y) {
            for (int x = 0; x < width; ++x) {
                const int from_y = y - view.down;
                const int from_x = (view.mirrored ? width - 1 - x : x) - view.right;
                const bool seen = 0 <= from_y && from_y < width && 0 <= from_x && from_x < width;
                const int from = from_y * width + from_x;
                *to++ = table[colour][seen ? plane[static_cast<std::size_t>(from)] : 0];
            }
        }
    }
}

}  // namespace dist::data
