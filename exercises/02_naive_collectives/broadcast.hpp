// Exercise 02: one rank has the data, then everyone has it. The naive way: one send to each.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Copies the root's `data` to every rank.
///
/// data    in on the root, out on all others. Length n >= 0, the same on every rank.
/// root    the rank that has the data; the same on every rank.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    p-1 messages of n floats, all from the root; the others receive one and send none.
/// Errors  dist::Error if a message fails; std::invalid_argument if root is not a rank of comm.
/// Source  MPI 3.1 standard, section 5.4, "Broadcast".
void broadcast(std::span<float> data, int root, const Communicator& comm);

}  // namespace dist
