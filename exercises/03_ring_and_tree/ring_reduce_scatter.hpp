// Exercise 03: the first half of the ring. Sums travel, and each rank finishes one chunk.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; rank r ends with chunk r of the result.
///
/// data    in: this rank's contribution, length n >= 0, the same on every rank; p need not divide
///         n. Out: chunk_bounds(n, p, r) holds the reduction; the other chunks hold no result.
/// op      how two elements combine; mean adds up and divides by p, once.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages and at most (p-1)ceil(n/p) floats sent per rank, in p-1 rounds; all of them
///         to the next rank, (r + 1) mod p, and from the previous one. Memory for two chunks
///         beside data, at most.
/// Errors  dist::Error if a message fails.
/// Source  Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of
///         workstations".
void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm);

}  // namespace dist
