// Exercise 02: nobody leaves before everybody has come. Through one rank, and without one.
#pragma once

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Waits until every rank has called it. Through rank 0: all report to it, then it lets all go.
///
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages without content, all of them from or to rank 0; 2(p-1) rounds.
/// Errors  dist::Error if a message fails.
/// Source  MPI 3.1 standard, section 5.3, "Barrier Synchronization".
void barrier(const Communicator& comm);

/// Waits until every rank has called it. Without a root: in step k = 0, 1, ... while 2^k < p, rank
/// r sends to r + 2^k and receives from r - 2^k (mod p).
///
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    ceil(log2 p) messages without content from each rank, as many rounds.
/// Errors  dist::Error if a message fails.
/// Source  Hensgen, Finkel & Manber (1988), "Two algorithms for barrier synchronization".
void dissemination_barrier(const Communicator& comm);

}  // namespace dist
