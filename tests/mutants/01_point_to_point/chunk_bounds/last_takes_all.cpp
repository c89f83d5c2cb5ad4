// The last chunk takes all that is left over: up to p-1 elements more than the others.
// state: fail
// says: lengths differ by one at most
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto parts = static_cast<std::size_t>(p);
    const auto number = static_cast<std::size_t>(i);
    const std::size_t length = n / parts;
    return {number * length, i == p - 1 ? n : (number + 1) * length};
}

}  // namespace dist
