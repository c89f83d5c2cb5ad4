// Waiting for other ranks through the shared board.
#pragma once

#include <functional>

#include "course/protocol/protocol.hpp"

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

/// A new body begins: its gates are numbered from one, alike on every rank.
void reset_gates();

}  // namespace dist::harness
