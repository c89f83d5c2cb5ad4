// Exercise 02: everyone contributes, one rank gets the result. The naive way: one message each.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; the root alone gets the result.
///
/// data    in: this rank's contribution; out: the reduction on the root, on every other rank left
///         as it was. Length n >= 0, the same on every rank.
/// op      how two elements combine; mean adds up and divides by p once, on the root.
/// root    the rank that gets the result; the same on every rank.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages of n floats, all to the root, which receives them one by one: p-1 rounds.
/// Errors  dist::Error if a message fails; std::invalid_argument if root is not a rank of comm.
/// Source  MPI 3.1 standard, section 5.9.1, "Reduce".
void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm);

}  // namespace dist
