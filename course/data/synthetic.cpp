#include "course/data/synthetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <sstream>
#include <utility>

#include "course/runtime/seeded.hpp"

namespace dist::data {

namespace {

constexpr std::uint64_t kPatternSeed = 0x5EED;  // the classes look the same in every set

// A sequence of numbers in [0, 1) that is fixed by its seed.
class Random {
  public:
    explicit Random(std::uint64_t seed) : seed_(seed) {}
    double next() { return static_cast<double>(seeded_bits(seed_, i_++) >> 11U) * 0x1p-53; }
    double between(double low, double high) { return low + (high - low) * next(); }

  private:
    std::uint64_t seed_;
    std::uint64_t i_ = 0;
};

// A class: for each colour how much there is of it, and three waves that fit the picture a whole
// number of times, so that a shift around the edges shows no seam. (3, 32, 32), about -2 to 2.
using Pattern = std::array<float, kPictureBytes>;

Pattern make_pattern(std::size_t label) {
    Random random(seeded_bits(kPatternSeed, label));
    Pattern pattern{};
    for (std::size_t colour = 0; colour < 3; ++colour) {
        const auto plane = pattern.begin() + static_cast<std::ptrdiff_t>(colour * kSide * kSide);
        std::fill_n(plane, kSide * kSide, static_cast<float>(random.between(-1, 1)));
        for (int wave = 0; wave < 3; ++wave) {
            const double down = std::floor(random.between(0, 4));
            const double right = std::floor(random.between(0, 4));
            const double phase = random.next();
            for (std::size_t i = 0; i < kSide * kSide; ++i) {
                const std::size_t y = i / kSide;
                const std::size_t x = i % kSide;
                const double across =
                    down * static_cast<double>(y) + right * static_cast<double>(x);
                const double turns = across / kSide + phase;
                pattern[colour * kSide * kSide + i] +=
                    static_cast<float>(std::cos(2 * std::numbers::pi * turns) / 2);
            }
        }
    }
    return pattern;
}

}  // namespace

std::string synthetic_records(std::size_t n, std::uint64_t seed) {
    std::array<Pattern, kClasses> patterns{};
    for (std::size_t label = 0; label < kClasses; ++label) {
        patterns[label] = make_pattern(label);
    }
    std::string records;
    records.reserve(n * kRecordBytes);
    for (std::size_t i = 0; i < n; ++i) {
        Random random(seeded_bits(seed, i));
        const std::size_t label = i % kClasses;
        const auto down = static_cast<std::size_t>(random.between(0, 9));
        const auto right = static_cast<std::size_t>(random.between(0, 9));
        const bool mirrored = random.next() < 0.5;
        const double brightness = random.between(90, 166);
        const double contrast = random.between(20, 40);
        records.push_back(static_cast<char>(label));
        for (std::size_t k = 0; k < kPictureBytes; ++k) {
            const std::size_t x = mirrored ? kSide - 1 - k % kSide : k % kSide;
            const std::size_t row = k / kSide;  // colour and y together
            const std::size_t y = (row + down) % kSide;
            const std::size_t from = (row / kSide * kSide + y) * kSide + (x + right) % kSide;
            const double noise = random.between(-40, 40);
            const double value = brightness + contrast * patterns[label][from] + noise;
            records.push_back(
                static_cast<char>(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)))
            );
        }
    }
    return records;
}

Dataset synthetic_dataset(std::size_t train_size, std::size_t test_size, std::uint64_t seed) {
    Dataset data{.train = {}, .test = {}, .source = "the synthetic set", .synthetic = true};
    std::istringstream train(synthetic_records(train_size, seeded_bits(seed, 0)));
    std::istringstream test(synthetic_records(test_size, seeded_bits(seed, 1)));
    data.train.append(train, "synthetic training set");
    data.test.append(test, "synthetic test set");
    return data;
}

}  // namespace dist::data
