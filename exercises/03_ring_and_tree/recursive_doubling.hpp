// Exercise 03: all-reduce in as few rounds as possible. The whole tensor, but only log2 p times.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; every rank ends with the same result, bit for bit.
///
/// In the step of distance d = 1, 2, 4, ..., q/2 ranks r and r ^ d (bit d of r is the other one)
/// exchange all they have and add. q is the largest power of two that is at most p. Each of the
/// p - q ranks beyond it hands its data to rank r - q before the first step, and gets the result
/// from there after the last one.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank.
/// op      how two elements combine; mean adds up and divides by p, once.
/// comm    collective: every rank of `comm` makes this call; any p.
///
/// Cost    log2 p messages of n floats sent by each rank, in log2 p rounds, if p is a power of two.
///         Otherwise log2 q messages, one more from each rank below p - q, one in all from each
///         rank beyond q, in log2 q + 2 rounds.
/// Errors  dist::Error if a message fails.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH": recursive doubling.
void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm);

}  // namespace dist
