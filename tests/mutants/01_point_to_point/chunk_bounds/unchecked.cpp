// It answers for chunks that do not exist.
// state: fail
// says: chunk_bounds(10, 3, 3)
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    const auto parts = static_cast<std::size_t>(p < 1 ? 1 : p);
    const auto number = static_cast<std::size_t>(i);
    return {
        n / parts * number + std::min(number, n % parts),
        n / parts * (number + 1) + std::min(number + 1, n % parts)};
}

}  // namespace dist
