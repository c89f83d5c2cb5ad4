// Exercise 03: all-reduce with as few bytes as a ring, in far fewer rounds.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; every rank ends with the same result, bit for bit.
///
/// Ranks r and r ^ d share a part of the data: one of them keeps its low half, the other one its
/// high half, and each sends the half that it does not keep to the other, who adds. Both go on with
/// the half that they keep and the next distance, down to single ranks. On the way back the
/// partners exchange their halves, finished now. It begins with all of data and d = q/2, where q
/// is the largest power of two that is at most p. Each rank r >= q first hands its data to
/// rank r - q, and gets the result from there at the end, as in recursive doubling.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank;
///         halves may differ by one element, and may be empty.
/// op      how two elements combine; mean adds up and divides by p, once.
/// comm    collective: every rank of `comm` makes this call; any p.
///
/// Cost    2 log2 p messages and at most 2(p-1)ceil(n/p) floats sent by each rank, in 2 log2 p
///         rounds, if p is a power of two. Otherwise that with q in the place of p, and one
///         message of n floats more, at most; one in all from each rank beyond q; 2 rounds more.
/// Errors  dist::Error if a message fails.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH": Rabenseifner's algorithm.
void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm);

}  // namespace dist
