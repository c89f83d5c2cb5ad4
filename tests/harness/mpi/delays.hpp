// A seeded schedule of small delays inside MPI calls, to bring races out.
#pragma once

namespace dist::harness {

/// Sleeps for up to half a millisecond, in a third of the calls, if delays were asked for. The same
/// seed, rank and number of call give the same delay.
void seeded_delay();

/// Sleeps as long as a Late of this rank says.
void late_delay();

/// Sleeps as long as a LateMessages of this rank says.
void late_message_delay();

/// Whether every message of this rank fails now: see FailingMessages.
bool messages_fail();

/// Whether the message of this rank that is through now fails: see FailingMessage. Asked once for each.
bool message_fails();

}  // namespace dist::harness
