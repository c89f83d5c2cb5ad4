// Exercise 02: every rank has a part, one rank collects them. The naive way: one message from each.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Puts the p chunks together on the root: scatter, the other way round.
///
/// in      this rank r's chunk: as long as chunk_bounds(n, p, r), n being the length of the root's
///         out. Left as it is.
/// out     out: n >= 0 elements on the root, chunk i from rank i; the root copies its own. Not
///         touched on the other ranks: there it may be empty.
/// root    the rank that gets the data; the same on every rank.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages, all to the root, which receives them one by one (p-1 rounds): from each
///         rank its chunk, also if it is empty. n floats less the root's own chunk.
/// Errors  std::invalid_argument if root is not a rank of comm, and on the root, before it
///         receives, if in is not as long as its own chunk. dist::Error if a message fails, and on
///         the root if another rank's chunk is longer or shorter than it must be: recv says so.
/// Source  MPI 3.1 standard, section 5.5, "Gather".
void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm);

}  // namespace dist
