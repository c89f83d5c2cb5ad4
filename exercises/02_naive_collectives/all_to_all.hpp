// Exercise 02: a different message from every rank for every other one, and no rank in the middle.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"

namespace dist {

/// Sends block j of every rank r's `in` to rank j, where it becomes block r of `out`.
///
/// in      p blocks of m = in.size() / p elements each, block j for rank j. Left as it is.
/// out     out: p blocks of m elements each, block j from rank j. As long as in.
/// comm    collective: every rank of `comm` makes this call, with the same length.
///
/// Cost    p-1 messages of m floats from each rank; the block for itself is copied. p-1 rounds, in
///         each of which every rank sends one message and receives one: in step s = 1, ..., p-1
///         rank r sends to r+s and receives from r-s (mod p), so that no two ranks have the same
///         partner.
/// Errors  std::invalid_argument, before anything is sent, if p does not divide in.size(), or out
///         is not as long as in, or m is more than mpi_count() takes. dist::Error if a message fails.
/// Source  MPI 3.1 standard, section 5.8, "All-to-All Scatter/Gather"; the order: Thakur,
///         Rabenseifner & Gropp (2005), "Optimization of Collective Communication Operations in
///         MPICH".
void all_to_all(std::span<const float> in, std::span<float> out, const Communicator& comm);

}  // namespace dist
