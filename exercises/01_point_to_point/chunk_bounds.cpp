#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

Chunk chunk_bounds(std::size_t n, int p, int i) {
    // TODO: where does chunk i begin, and where does the next one begin? With 7 elements for 3
    // ranks, 7 / 3 = 2 elements each leave one over: which chunk takes it? And see "Errors" in the
    // header.
    throw NotImplemented("chunk_bounds");
}

}  // namespace dist
