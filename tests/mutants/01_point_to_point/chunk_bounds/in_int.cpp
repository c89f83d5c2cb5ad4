// It counts in int, and overflows.
// state: fail
// says: 3000000001 elements
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto length = static_cast<int>(n);
    const int begin = length / p * i + std::min(i, length % p);
    const int end = length / p * (i + 1) + std::min(i + 1, length % p);
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

}  // namespace dist
