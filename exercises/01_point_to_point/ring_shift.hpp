// Exercise 01: all ranks in a circle; everyone sends right and receives left at the same time.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"

namespace dist {

/// Sends `to_next` to rank r + 1 and receives `from_prev` from rank r - 1, on a circle of p ranks.
///
/// to_next    the message for the next rank, (r + 1) mod p; left as it is.
/// from_prev  out: the message of the previous rank, (r - 1) mod p. Its length is that of the
///            previous rank's to_next, not of this rank's. The two spans do not overlap.
/// comm       collective: every rank of `comm` makes this call. With p = 1 a rank is its own
///            neighbour.
///
/// Cost       1 message sent and 1 received per rank, both at the same time: 1 round.
/// Errors     dist::Error if a message fails; std::invalid_argument, before anything is sent, if a
///            length is more than mpi_count() takes.
/// Source     MPI 3.1 standard, section 3.5, "Semantics of Point-to-Point Communication", and 3.10.
void ring_shift(
    std::span<const float> to_next, std::span<float> from_prev, const Communicator& comm
);

}  // namespace dist
