// Exercise 03: all-reduce among ranks that share memory. No message is sent.
#pragma once

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"
#include "course/runtime/shared_buffer.hpp"

namespace dist {

/// Reduces the parts of `data` element-wise; every part ends as the same result.
///
/// data    p parts of n >= 0 floats. In: data.of(r) is rank r's contribution, written by rank r
///         before the call. Out: every part holds the reduction, and may be read at once.
/// op      how two elements combine; mean adds up and divides by p once.
/// comm    the communicator of `data`; collective: every rank makes this call.
///
/// Rank r reads and writes elements chunk_bounds(n, p, r) of every part, and touches no others.
///
/// Cost    no message; two barriers (data.synchronize()), and n/p elements of each of the p parts
///         read and written by each rank.
/// Errors  those of data.synchronize().
/// Source  MPI 3.1 standard, section 11.2.3, "Window That Allocates Shared Memory".
void shared_memory_all_reduce(SharedBuffer& data, ReduceOp op, const Communicator& comm);

}  // namespace dist
