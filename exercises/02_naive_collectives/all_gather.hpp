// Exercise 02: every rank has a part, then everyone has all. The naive way: through one root.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Puts the p chunks together, in rank order; every rank ends with the whole.
///
/// in      this rank r's chunk: as long as chunk_bounds(n, p, r), n being out.size(); not changed.
/// out     out: n >= 0 elements, chunk i from rank i. The same length on every rank.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages, all of them from or to rank 0: p-1 of a chunk (about n/p floats) to it,
///         p-1 of n floats back. 2(p-1) rounds: gather, then broadcast.
/// Errors  those of gather and broadcast: std::invalid_argument on rank 0, before it receives, if in is
///         not as long as its own chunk; dist::Error if a message fails, or is longer or shorter than
///         it must be.
/// Source  MPI 3.1 standard, section 5.7, "Gather-to-all".
void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm);

}  // namespace dist
