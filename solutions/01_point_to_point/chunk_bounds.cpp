#include "exercises/01_point_to_point/chunk_bounds.hpp"

#include <algorithm>

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto parts = static_cast<std::size_t>(p);
    const auto number = static_cast<std::size_t>(i);
    // every chunk has n / p elements, and the first n % p chunks have one more
    const std::size_t length = n / parts;
    const std::size_t longer = n % parts;
    const auto begin = [&](std::size_t c) { return c * length + std::min(c, longer); };
    return {begin(number), begin(number + 1)};
}

}  // namespace dist
