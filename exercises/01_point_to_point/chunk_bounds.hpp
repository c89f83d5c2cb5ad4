// Exercise 01: n elements shared out among p ranks. No message yet, but all algorithms need it.
#pragma once

#include <cstddef>

#include "course/runtime/error.hpp"

namespace dist {

/// The elements [begin, end) of a sequence: data.subspan(chunk.begin, chunk.size()).
struct Chunk {
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t size() const { return end - begin; }
    bool operator==(const Chunk&) const = default;
};

/// Chunk `i` when n elements are shared out among p: in order, without gap or overlap. Chunk 0
/// begins at 0, each begins where the one before ends, and the last ends at n.
///
/// n       elements, also when p does not divide it, and when there are fewer than p.
/// p       how many chunks, >= 1. Their lengths differ by one at most.
/// i       which one, 0 to p-1.
///
/// Cost    a few operations: no loop over n or p.
/// Errors  std::invalid_argument if p < 1, or i is not in 0 to p-1.
/// Source  Quinn (2003), "Parallel Programming in C with MPI and OpenMP": block decomposition.
Chunk chunk_bounds(std::size_t n, int p, int i);

}  // namespace dist
