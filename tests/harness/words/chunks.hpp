// Chunks of a whole that ranks have, give or get: what scatter, gather and their kin are tried with.
#pragma once

#include <string>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/words/attempt.hpp"
#include "tests/harness/words/labels.hpp"

namespace dist::harness {

/// This rank's chunk of a whole of n elements.
inline Chunk chunk_of(std::size_t n, const Communicator& comm) {
    return chunk_bounds(n, comm.size(), comm.rank());
}

/// "elements [3, 5)", "no elements"
inline std::string text_of(const Chunk& chunk) {
    return chunk.size() == 0 ? "no elements"
                             : "elements [" + std::to_string(chunk.begin) + ", " +
                                   std::to_string(chunk.end) + ")";
}

/// The elements of `whole` in `chunk`.
inline std::vector<float> part(const std::vector<float>& whole, const Chunk& chunk) {
    const auto begin = whole.begin();
    return {
        begin + static_cast<std::ptrdiff_t>(chunk.begin),
        begin + static_cast<std::ptrdiff_t>(chunk.end)};
}

/// Rank `rank`'s chunk when a whole of call.n elements is put together: numbered from 0 on every rank.
inline std::vector<float> chunk_to_give(const Call& call, int rank, int p) {
    return labels(chunk_bounds(call.n, p, rank).size(), rank, call.salt);
}

/// The whole: the chunks of all ranks, in their order.
inline std::vector<float> all_chunks(const Call& call, int p) {
    std::vector<float> whole;
    for (int rank = 0; rank < p; ++rank) {
        const auto chunk = chunk_to_give(call, rank, p);
        whole.insert(whole.end(), chunk.begin(), chunk.end());
    }
    return whole;
}

}  // namespace dist::harness
