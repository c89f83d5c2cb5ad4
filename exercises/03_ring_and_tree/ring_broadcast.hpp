// Exercise 03: a broadcast as a pipeline. Pieces follow each other along the ring.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"

namespace dist {

/// Copies the root's `data` to every rank; each rank passes on to the next what it receives, one
/// segment after another.
///
/// data      in on the root, out on all others. Length n >= 0, the same on every rank.
/// root      the rank that has the data; the same on every rank.
/// segments  into how many pieces S the data is cut, >= 1; the same on every rank. Segment i is
///           chunk_bounds(n, S, i); n may be less than S.
/// comm      collective: every rank of `comm` makes this call.
///
/// Cost      S messages, n floats in all, sent by each rank to the next one, (r + 1) mod p; the
///           rank before the root sends none. p-2+S rounds (p >= 2): a segment leaves while the
///           one after it comes in; where a rank receives and sends by turns, p-3+2S. No memory
///           beside data.
/// Errors    dist::Error if a message fails; std::invalid_argument, before anything is sent, if root
///           is not a rank of comm, segments < 1, or a segment is longer than mpi_count() takes.
/// Source    Pješivac-Grbović et al. (2007), "Performance analysis of MPI collective operations":
///           pipeline.
void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm);

}  // namespace dist
