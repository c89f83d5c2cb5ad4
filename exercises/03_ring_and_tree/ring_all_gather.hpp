// Exercise 03: the second half of the ring. Finished chunks travel, until every rank has all.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Collects one chunk from each rank; every rank ends with all of them.
///
/// data    length n >= 0, the same on every rank; p need not divide n. In: chunk_bounds(n, p, r)
///         holds this rank's part. Out: chunk_bounds(n, p, i) holds the part of rank i, for all i.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages and at most (p-1)ceil(n/p) floats sent per rank, in p-1 rounds; all of them
///         to the next rank, (r + 1) mod p, and from the previous one. No memory beside data.
/// Errors  dist::Error if a message fails.
/// Source  Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of
///         workstations".
void ring_all_gather(std::span<float> data, const Communicator& comm);

}  // namespace dist
