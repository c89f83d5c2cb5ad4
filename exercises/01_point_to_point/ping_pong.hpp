// Exercise 01: how long does a message take? Two numbers that describe a whole network.
#pragma once

#include <array>
#include <cstddef>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// A message of b bytes takes latency_s + b / bytes_per_s seconds.
struct Link {
    double latency_s = 0;    // alpha: what the emptiest message takes
    double bytes_per_s = 0;  // B, the bandwidth
};

/// The lengths that are measured, in bytes: 0, 4 KiB, 64 KiB, 1 MiB, 4 MiB.
inline constexpr std::array<std::size_t, 5> kPingPongBytes = {0, 4096, 65536, 1048576, 4194304};

/// Measures the link between the two ranks of `comm`.
///
/// For every length, rank 0 sends a message of it to rank 1, which sends one of the same length
/// back: a round trip. One to warm up, then `repetitions` more. The time of a message is half of a
/// round trip: the median over all but the first, by MPI_Wtime(), which is MPI's clock. Every rank
/// has a clock of its own: subtract two times of one rank, never those of different ranks.
///
/// repetitions  round trips that count, for each length; >= 1.
/// comm         collective: both of its ranks make this call.
/// Returns      on both ranks the same, to the last bit: the line latency_s + b / bytes_per_s
///              whose relative errors at the measured times have the least sum of squares.
///
/// Cost         each rank sends repetitions + 1 messages of each length, and rank 0 one more, with
///              the result.
/// Errors       dist::Error if a message fails; std::invalid_argument if comm does not have
///              exactly two ranks, or if repetitions < 1.
/// Source       Hockney (1994), "The communication challenge for MPP: Intel Paragon and Meiko
///              CS-2".
Link ping_pong(int repetitions, const Communicator& comm);

}  // namespace dist
