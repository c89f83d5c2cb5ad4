// Why nothing moves among ranks that are plain processes, as far as they show on the board what they wait for.
//
// Note [Standstill] A rank that talks through a WatchedTransport shows there each message that it has sent and that nobody
// has received, and each receive that it waits for. Thus a deadlock can be proved: every rank that lives waits to receive
// from one that lives, what nobody has sent; and its threads that wait for no message have slept for a while. Whoever could
// send waits himself. What the board cannot prove (a send that does not end, a message that was sent and does not come, a
// rank that sleeps elsewhere) is a standstill when nothing has moved for a long time.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "tests/harness/job/runs.hpp"

namespace dist::harness {

/// Where rank `rank` of a body on processes writes: the board has room for more ranks than a job has, theirs are the last ones.
int slot_number(int rank);

/// Makes that place ready for a rank that is about to be forked.
void clear_slot(int rank);

/// Whether it is proved that no rank can go on.
///
/// alive    by rank; 0: it has ended.
/// quiet_s  for how long nothing has moved.
bool is_deadlock(const std::vector<pid_t>& alive, double quiet_s);

/// Why nothing moves, where it is no deadlock: which message was sent and does not come, if there is one.
std::string why_nothing_moves(const std::vector<pid_t>& alive);

/// Ends all that live. Returns by rank where each stood, and what it waited in; of one that had ended, nothing.
std::vector<ProcessRun> end_all(const std::vector<pid_t>& alive, const std::string& why);

}  // namespace dist::harness
