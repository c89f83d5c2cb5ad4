// Counts what the code under test sends and receives on this rank, and keeps its logical clock.
//
// Note [Rounds] Every message starts with a header that carries the sender's logical clock. Each
// rank sends one message and receives one at a time, a round each: a send starts at max(now, end of
// the last send) and ends one later; a receive takes the first free round that is not before the
// clock carried, and after the round in which it was posted. So the order in which a program waits
// for receives that it posted together does not count.
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

/// The round in which the calling thread is.
int current_round();

/// A message is there: `message` says all but its end and this rank. `posted` is the round in which
/// the receive was posted.
void count_receive(MessageRecord message, int posted);

/// What this rank received since reset_traffic(), in the order in which it was delivered.
std::vector<MessageRecord> received_messages();

/// A message of a library that tells no rounds: NCCL, on GPUs.
void count_message(bool is_send, int peer, long payload_bytes);

void count_collective();

}  // namespace dist::harness
