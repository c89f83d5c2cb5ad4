// Exercise 03: a reduction as a pipeline. Partial results follow each other towards the root.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks to the root; each rank adds its own to what comes in
/// and passes it on to the next, one segment after another.
///
/// data      in: this rank's contribution, length n >= 0, the same on every rank. Out: the
///           reduction on the root; on all other ranks it is left as it was.
/// op        how two elements combine; mean adds up and divides by p, once.
/// root      the rank that gets the result; the same on every rank.
/// segments  into how many pieces S the data is cut, >= 1; the same on every rank. Segment i is
///           chunk_bounds(n, S, i); n may be less than S.
/// comm      collective: every rank of `comm` makes this call.
///
/// Cost      S messages, n floats in all, sent by each rank to the next one, (r + 1) mod p; the
///           rank after the root starts, and the root sends none. p-2+S rounds (p >= 2); where a rank
///           receives and sends by turns, p-3+2S. Memory for two segments beside data.
/// Errors    dist::Error if a message fails; std::invalid_argument, before anything is sent, if root
///           is not a rank of comm, segments < 1, or a segment is longer than mpi_count() takes.
/// Source    Pješivac-Grbović et al. (2007), "Performance analysis of MPI collective operations":
///           pipeline.
void ring_reduce(
    std::span<float> data, ReduceOp op, int root, int segments, const Communicator& comm
);

}  // namespace dist
