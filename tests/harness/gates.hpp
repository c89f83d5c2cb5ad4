// Waiting for other ranks through the shared board.
#pragma once

#include <functional>

#include "tests/harness/protocol.hpp"

namespace dist::harness {

/// Sleeps or spins until `condition`; false if a rank died meanwhile. Messages go on moving: a rank
/// that has returned may have left a receive behind, which a sender still waits for.
bool wait_until(const std::function<bool()>& condition);

/// Whether `condition` holds for the first `ranks` ranks of the job.
bool everyone(int ranks, const std::function<bool(Slot&)>& condition);

/// Waits until every rank of the body in progress stands here. A rank in a gate has, for the
/// others, returned from the code under test.
///
/// Errors  Stopped if the test was stopped, or another rank has left it.
void gate();

/// The number of the first gate of an on_ranks body; the others follow.
inline constexpr long kGatesPerRun = 1000;
constexpr long first_gate_of(long run) {
    return run * kGatesPerRun + 1;
}

/// A new body begins: its gates are numbered from one, alike on every rank.
void reset_gates();

}  // namespace dist::harness
