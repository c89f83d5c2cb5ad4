// Exercise 02: everyone contributes, each rank gets its part. The naive way: through one root.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `in` element-wise over all ranks; rank r gets chunk r of the result.
///
/// in      this rank's contribution, left as it is. Length n >= 0, the same on every rank.
/// out     out: elements chunk_bounds(n, p, r) of the reduction on rank r, and exactly as long.
/// op      how two elements combine; mean adds up and divides by p once.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages, all of them from or to rank 0: p-1 of n floats to it, p-1 of a chunk
///         (about n/p floats) back. 2(p-1) rounds: reduce, then scatter.
/// Errors  those of reduce and scatter: after the reduction, std::invalid_argument or dist::Error on
///         the rank whose out is not as long as its chunk; dist::Error if a message fails.
/// Source  MPI 3.1 standard, section 5.10, "Reduce-Scatter".
void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
);

}  // namespace dist
