#include "tests/harness/processes/standstill.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <span>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

// How long threads that wait for no message must have slept to count as waiting for those that do.
constexpr double kThreadsAsleepS = 0.5;

Slot& slot_of_process(int rank) {
    return slot_of(slot_number(rank));
}

std::span<Message> messages_shown_by(int rank) {
    Slot& slot = slot_of_process(rank);
    return std::span(slot.message).first(static_cast<std::size_t>(slot.message_lines));
}

// Whether somebody has sent what the receive of `rank` waits for.
bool was_sent(const Message& receive, int rank) {
    return std::ranges::any_of(messages_shown_by(receive.peer), [&](const Message& sent) {
        return sent.used != 0 && sent.is_send != 0 && sent.peer == rank &&
               sent.tag == receive.tag && sent.group == receive.group;
    });
}

// Of the receives that `rank` waits for, one that was sent.
const Message* on_its_way_to(int rank) {
    const std::span messages = messages_shown_by(rank);
    const auto found = std::ranges::find_if(messages, [&](const Message& one) {
        return one.used != 0 && one.is_send == 0 && was_sent(one, rank);
    });
    return found == messages.end() ? nullptr : &*found;
}

// A thread that has not come to any message yet has no line on the board.
long threads_of(pid_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    std::error_code ended;
    return std::distance(std::filesystem::directory_iterator(folder, ended), {});
}

bool process_waits_in_vain(int rank, const std::vector<pid_t>& alive, double quiet_s) {
    long waiting = 0;
    for (const Line& line : slot_of_process(rank).line) {
        if (line.phase != Phase::waiting) {
            continue;
        }
        const auto peer = static_cast<std::size_t>(line.peer.load());
        if (line.direction != Direction::receive || alive.at(peer) == 0) {
            return false;
        }
        ++waiting;
    }
    const bool all_wait = threads_of(alive[static_cast<std::size_t>(rank)]) == waiting;
    return waiting > 0 && (all_wait || quiet_s > kThreadsAsleepS) && on_its_way_to(rank) == nullptr;
}

// A thread of `rank` that waits for a message.
const Line* line_that_waits(int rank) {
    const std::span lines(slot_of_process(rank).line);
    const auto found = std::ranges::find(lines, Phase::waiting, [](const Line& line) {
        return line.phase.load();
    });
    return found == lines.end() ? nullptr : &*found;
}

// What rank `rank` waits in, and for whom.
ProcessRun standing(int rank, const std::string& why) {
    ProcessRun run;
    run.outcome = Outcome::hang;
    run.message = why;
    run.phase = Phase::asleep;
    if (const Line* const line = line_that_waits(rank)) {
        run.phase = Phase::waiting;
        run.waits_in = {
            .call = line->call,
            // its message was sent: there is nobody that it waits for
            .peer = on_its_way_to(rank) == nullptr ? line->peer.load() : -1,
            .tag = line->tag,
            .kind = line->kind,
            .direction = line->direction,
            .since_s = now_s() - line->since_s};
    }
    return run;
}

// The stack of the thread that waits, or of the first one. The process has been stopped, and goes on until it has answered.
std::vector<std::uint64_t> stack_of(int rank, pid_t pid) {
    constexpr int kLookUs = 1000;
    const Line* const line = line_that_waits(rank);
    const Frames& answer = slot_of_process(rank).end_frames;
    tgkill(pid, line == nullptr ? pid : line->tid.load(), kWhereSignal);
    kill(pid, SIGCONT);
    for (int i = 0; i < 1000 && answer.count == 0; ++i) {
        usleep(kLookUs);
    }
    return {answer.address, answer.address + answer.count};
}

}  // namespace

int slot_number(int rank) {
    return kMaxRanks - 1 - rank;
}

void clear_slot(int rank) {
    Slot& slot = slot_of_process(rank);
    slot.end_frames.count = 0;
    for (Line& line : slot.line) {
        line.phase = Phase::absent;
    }
    for (Message& message : slot.message) {
        message.used = 0;
    }
    slot.message_lines = 0;
}

bool is_deadlock(const std::vector<pid_t>& alive, double quiet_s) {
    const long epoch = board().epoch;
    for (std::size_t rank = 0; rank < alive.size(); ++rank) {
        if (alive[rank] != 0 && !process_waits_in_vain(static_cast<int>(rank), alive, quiet_s)) {
            return false;
        }
    }
    return board().epoch == epoch;
}

std::string why_nothing_moves(const std::vector<pid_t>& alive) {
    for (std::size_t r = 0; r < alive.size(); ++r) {
        const int rank = static_cast<int>(r);
        if (const Message* message = alive[r] == 0 ? nullptr : on_its_way_to(rank)) {
            return "rank " + std::to_string(message->peer) + " has sent what rank " +
                   std::to_string(rank) +
                   " waits for, and it does not come: nothing moves any more";
        }
    }
    return "nothing moves any more: each rank that lives sleeps, or waits for what does not come";
}

std::vector<ProcessRun> end_all(const std::vector<pid_t>& alive, const std::string& why) {
    std::vector<ProcessRun> runs(alive.size());
    for (std::size_t r = 0; r < alive.size(); ++r) {
        if (alive[r] != 0) {
            runs[r] = standing(static_cast<int>(r), why);
            kill(alive[r], SIGSTOP);  // or it would find out that others have ended
        }
    }
    for (std::size_t r = 0; r < alive.size(); ++r) {
        if (alive[r] != 0) {
            runs[r].frames = stack_of(static_cast<int>(r), alive[r]);
            kill(alive[r], SIGKILL);
            waitpid(alive[r], nullptr, 0);
        }
    }
    return runs;
}

}  // namespace dist::harness
