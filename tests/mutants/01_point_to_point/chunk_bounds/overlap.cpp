// The first n % p chunks are longer, and the others begin as if they were not.
// state: fail
// says: is in two chunks
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto parts = static_cast<std::size_t>(p);
    const auto number = static_cast<std::size_t>(i);
    const std::size_t length = n / parts;
    return {number * length, (number + 1) * length + (number < n % parts ? 1 : 0)};
}

}  // namespace dist
