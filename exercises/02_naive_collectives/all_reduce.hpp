// Exercise 02: everyone contributes, everyone gets the result. The naive way: through one root.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks; every rank ends with the same result.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank.
/// op      how two elements combine; mean adds up and divides by p once, at the end.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages of n floats, all of them from or to rank 0, which so carries 2(p-1)n
///         floats: reduce, then broadcast. What is wrong with that is the lesson's question.
/// Errors  dist::Error if a message fails.
/// Source  MPI 3.1 standard, section 5.9.6, "All-Reduce".
void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm);

}  // namespace dist
