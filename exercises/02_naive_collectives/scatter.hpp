// Exercise 02: one rank has all the data, and gives each its part. The naive way: one send to each.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Cuts the root's `in` into p chunks; rank i gets chunk i.
///
/// in      n >= 0 elements on the root, left as they are. Not looked at on the other ranks: there
///         it may be empty.
/// out     out: this rank r's chunk, elements chunk_bounds(n, p, r) of the root's in, and exactly
///         as long. The root copies its own.
/// root    the rank that has the data; the same on every rank.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages, all from the root, one after the other (p-1 rounds): to each rank its
///         chunk, also if it is empty. n floats less the root's own chunk.
/// Errors  std::invalid_argument if root is not a rank of comm, and on the root, before it sends,
///         if out is not as long as its own chunk. dist::Error if a message fails, and on any other
///         rank if out is longer or shorter than the chunk that comes: recv says so.
/// Source  MPI 3.1 standard, section 5.6, "Scatter".
void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm);

}  // namespace dist
