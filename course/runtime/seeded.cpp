#include "course/runtime/seeded.hpp"

namespace dist {

std::uint64_t seeded_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

std::vector<float> seeded_data(std::size_t n, int rank, std::uint64_t seed) {
    const std::uint64_t stream = seeded_bits(seed, static_cast<std::uint64_t>(rank));
    std::vector<float> data(n);
    for (std::size_t i = 0; i < n; ++i) {
        data[i] = static_cast<float>(1 + seeded_bits(stream, i) % 8);
    }
    return data;
}

}  // namespace dist
