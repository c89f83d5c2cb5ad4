// Exercise 03: all-reduce on a ring, the sum of its two halves. Nobody carries more than another.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; every rank ends with the same result, bit for bit.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank;
///         p need not divide n.
/// op      how two elements combine; mean adds up and divides by p, once.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages and at most 2(p-1)ceil(n/p) floats sent per rank, in 2(p-1) rounds;
///         partners are the two neighbours on the ring. Memory for two chunks beside data, at
///         most.
/// Errors  dist::Error if a message fails.
/// Source  Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of
///         workstations".
void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm);

}  // namespace dist
