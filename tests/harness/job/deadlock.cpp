// How a rank waits, and how a deadlock is decided: see Note [Deadlock].

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sched.h>
#include <span>

#include "course/runtime/clock.hpp"
#include "tests/harness/job/gates.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kPolls = 40;
constexpr double kQuietS = 0.05;
constexpr double kAsleepS =
    0.5;  // how long a rank's other threads must have slept to count as waiting

// True if some thread of this rank is outside MPI, and if so whether all such threads sleep.
bool other_threads_asleep() {
    for (Line& line : my_slot().line) {
        if (line.phase != Phase::computing) {
            continue;
        }
        std::ifstream stat("/proc/self/task/" + std::to_string(line.tid.load()) + "/stat");
        std::string pid;
        std::string name;
        char state = '?';
        stat >> pid >> name >> state;
        if (state != 'S') {
            return false;
        }
    }
    return true;
}

// A rank may get no core for a while when its gate opens: it goes on, though nothing of it moves.
bool gate_is_open(Slot& slot) {
    const long gate = slot.gate;
    return gate != slot.gate_left &&
           everyone(participants(), [&](Slot& other) { return other.gate >= gate; });
}

bool waits_in_vain(Slot& slot, long epoch) {
    if (gate_is_open(slot)) {
        return false;
    }
    bool waits = false;
    bool computes = false;
    for (Line& line : slot.line) {
        const Phase phase = line.phase;
        if (phase == Phase::waiting) {
            if (line.seen_epoch != epoch || line.polls < kPolls) {
                return false;
            }
            waits = true;
        }
        computes = computes || phase == Phase::computing;
    }
    return !computes || (waits && slot.asleep_epoch == epoch);
}

std::span<Message> messages_of(int rank) {
    Slot& slot = slot_of(rank);
    return std::span(slot.message).first(static_cast<std::size_t>(slot.message_lines));
}

bool takes(const Message& receive, int from, const Message& send) {
    return receive.used != 0 && receive.is_send == 0 && receive.group == send.group &&
           (receive.peer == from || receive.peer == MPI_ANY_SOURCE) &&
           (receive.tag == send.tag || receive.tag == MPI_ANY_TAG);
}

// A receive that MPI has matched, or a posted send and a posted receive that belong together.
bool message_on_its_way() {
    for (int a = 0; a < participants(); ++a) {
        for (const Message& message : messages_of(a)) {
            const int b = message.peer;
            if (message.used == 0 || b < 0 || b >= world_size()) {
                continue;
            }
            if (message.group == Message::kMatched) {
                return true;
            }
            const auto is_taken = [&](const Message& other) { return takes(other, a, message); };
            if (message.is_send != 0 && std::ranges::any_of(messages_of(b), is_taken)) {
                return true;
            }
        }
    }
    return false;
}

bool all_wait_in_vain() {
    const long epoch = board().epoch;
    for (int r = 0; r < participants(); ++r) {
        if (!waits_in_vain(slot_of(r), epoch)) {
            return false;
        }
    }
    return !message_on_its_way() && board().epoch == epoch;
}

void copy(const Frames& from, Frames& to) {
    for (int i = 0; i < from.count; ++i) {
        to.address[i] = from.address[i].load();
    }
    to.count = from.count.load();
}

}  // namespace

Wait::Wait(const RequestText& text) : quiet_since_s_(now_s()), line_(my_line()) {
    leave_if_stopped();
    std::snprintf(line_.call, sizeof line_.call, "%s", text.call.c_str());
    line_.peer = text.peer;
    line_.rank_in_comm = text.rank_in_comm;
    line_.peer_in_comm = text.peer_in_comm;
    line_.tag = text.tag;
    line_.kind = text.kind;
    line_.direction = text.direction;
    line_.polls = 0;
    line_.frames.count = 0;
    line_.seen_epoch = board().epoch.load();
    publish(Phase::waiting);
}

Wait::~Wait() {
    Line& first = my_slot().line[0];
    if (stopped() && &first != &line_ && first.phase == Phase::computing) {
        // the first thread asks for this one's result, and writes the record when this one may be gone
        std::copy_n(line_.call, sizeof line_.call, first.call);
        first.peer = line_.peer.load();
        first.rank_in_comm = line_.rank_in_comm.load();
        first.peer_in_comm = line_.peer_in_comm.load();
        first.tag = line_.tag.load();
        first.kind = line_.kind.load();
        first.direction = line_.direction.load();
        first.since_s = line_.since_s.load();
        copy(line_.frames, first.frames);
    }
    publish(Phase::computing);
}

void Wait::stands_at(const Frames& frames) {
    copy(frames, line_.frames);
    framed_ = true;
}

void Wait::poll() {
    if (stopped() && !framed_) {
        capture_frames(line_.frames);
    }
    leave_if_stopped();
    const long epoch = board().epoch;
    if (line_.seen_epoch != epoch) {
        line_.polls = 0;
        line_.seen_epoch = epoch;
        quiet_since_s_ = now_s();
    }
    line_.polls.fetch_add(1);
    note_finished_messages();
    const double quiet_s = now_s() - quiet_since_s_;
    if (!framed_ && line_.polls > kPolls / 2 && quiet_s > kQuietS / 2) {
        capture_frames(line_.frames);
        framed_ = true;
    }
    if (line_.polls > kPolls && quiet_s > kQuietS) {
        if (quiet_s > kAsleepS && my_slot().asleep_epoch != epoch && other_threads_asleep()) {
            my_slot().asleep_epoch = epoch;
        }
        if (all_wait_in_vain()) {
            stop_all(Stop::deadlock, "");  // why, the records say together: explain_hang.cpp
            leave_if_stopped();
        }
    }
    sched_yield();
}

}  // namespace dist::harness
