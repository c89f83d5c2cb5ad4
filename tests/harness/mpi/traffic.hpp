// What came through the channel (tests/harness/channel.hpp) on this rank: counted, and logged for Note [Rounds].
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "course/trace/rounds.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using trace::Did;

/// Starts counting from zero, and a log of what this rank does.
void reset_traffic();

/// Ends the log, and returns it. What comes then is not of the code under test.
std::vector<trace::Step> end_log();

/// The log, ended or not: in a record, what the code under test did last.
trace::Log last_log();

/// Memory that the call under test is given, for `trace`: which part of it a message carries.
void names_memory(const std::string& name, std::span<const float> floats);

/// What this rank sent and received since; without rounds.
Traffic traffic();

/// What this rank received since reset_traffic(), in the order in which it was delivered. `src` is
/// a rank of the job.
std::vector<MessageRecord> received_messages();

/// Writes the rounds of all messages into what received_messages() returns; `rank` is this one.
void note_schedule(const trace::Schedule& schedule, int rank);

/// From now on every step is also written there, in memory that outlives this process, as far as there is room.
struct SharedLog {
    static constexpr int kRoom = 1 << 16;
    std::atomic<int> steps;
    trace::Step step[kRoom];
};
void log_into(SharedLog& shared);

void note_listened_to_anyone();
void count_collective();
void count_communicator();

/// The calling thread is about to start another; returns its number, to be given to begin_thread() by
/// the new one. Who has joined it says so by join_thread().
int start_thread();
void begin_thread(int number);
void join_thread(int number);

}  // namespace dist::harness
