// Counts what the code under test sends and receives on this rank, and keeps its logical clock.
//
// Note [Rounds] Every message starts with a header that carries the sender's logical clock. Each
// rank sends one message and receives one at a time, a round each: a send starts at max(now, end of
// the last send) and ends one later; a receive ends at max(clock carried, end of the last receive +
// 1).
#pragma once

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Starts counting from zero, at round zero.
void reset_traffic();

/// What this rank sent and received since; `rounds` is this rank's own clock.
Traffic traffic();

/// A message to `dst` leaves. Returns the round in which it arrives.
int count_send(int dst, int payload_bytes);

/// The sender knows that its message has arrived.
void count_arrival(int clock);

/// A message from `src` is there; `clock` is what it carried.
void count_receive(int src, int payload_bytes, int clock);

void count_collective();

}  // namespace dist::harness
