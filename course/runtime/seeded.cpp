#include "course/runtime/seeded.hpp"

namespace dist {

std::vector<float> seeded_data(std::size_t n, int rank, std::uint64_t seed) {
    const std::uint64_t stream = seeded_bits(seed, static_cast<std::uint64_t>(rank));
    std::vector<float> data(n);
    for (std::size_t i = 0; i < n; ++i) {
        data[i] = static_cast<float>(1 + seeded_bits(stream, i) % 8);
    }
    return data;
}

}  // namespace dist
