// Counts what the code under test sends and receives on this rank, and logs it for Note [Rounds].
#pragma once

#include <map>

#include "course/trace/rounds.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using trace::Did;
using trace::Step;

/// Starts counting from zero, and a log of what this rank does.
void reset_traffic();

/// Ends the log, and returns it. What comes then is not of the code under test.
std::vector<Step> end_log();

/// The log, ended or not: in a record, what the code under test did last.
trace::Log last_log();

/// What this rank sent and received since; without rounds.
Traffic traffic();

/// A message to `dst` leaves, in the world of the job `peer`; returns its number.
int count_send(int dst, int peer, int tag, int payload_bytes);

/// A receive is posted; returns its number.
int count_post();

/// While it lives, the calling thread waits for messages.
class Waiting {
  public:
    Waiting();
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
};

/// The calling thread knows that message `id`, which it sent, has arrived.
void count_arrival(int id);

/// Receive `id` is through: `message` says all but its rounds and this rank. `sender`, a rank in the
/// world of the job, numbered it `sender_id`.
void count_receive(const MessageRecord& message, int id, int sender, int sender_id);

/// What this rank received since reset_traffic(), in the order in which it was delivered.
std::vector<MessageRecord> received_messages();

/// Writes the rounds of all messages into what received_messages() returns; `rank` is this one.
void note_schedule(const trace::Schedule& schedule, int rank);

/// A message of a library that tells no rounds: NCCL, on GPUs.
void count_message(bool is_send, int peer, long payload_bytes);

void count_collective();

/// The calling thread is about to start another; returns its number, to be given to begin_thread() by
/// the new one. Who has joined it says so by join_thread().
int start_thread();
void begin_thread(int number);
void join_thread(int number);

}  // namespace dist::harness
