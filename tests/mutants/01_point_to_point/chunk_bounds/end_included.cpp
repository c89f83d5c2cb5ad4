// The end is the last element, not the one behind it.
// state: fail
// says: are in no chunk
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    expects(p >= 1, "chunk_bounds: p must be at least 1");
    expects(0 <= i && i < p, "chunk_bounds: i must be in 0 to p-1");
    const auto parts = static_cast<std::size_t>(p);
    const auto number = static_cast<std::size_t>(i);
    const std::size_t begin = n * number / parts;
    const std::size_t end = n * (number + 1) / parts;
    return {begin, end > begin ? end - 1 : end};
}

}  // namespace dist
