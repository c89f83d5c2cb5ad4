// Spreads the longer chunks by n * i / p, which is too large for the longest sequences.
// state: fail
// says: elements in 3 chunks
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto parts = static_cast<std::size_t>(p);
    const auto number = static_cast<std::size_t>(i);
    const auto begin = [&](std::size_t c) { return n * c / parts; };
    return {begin(number), begin(number + 1)};
}

}  // namespace dist
