#include "tests/harness/roll_call/roll_call.hpp"

#include <cstdio>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/roll_call/map_board.hpp"

namespace dist::harness {
namespace {

Board* the_board = nullptr;
int my_rank = 0;
int slot_taken = 0;  // its own, where it is a rank of the job
int job_size = 1;
std::atomic<long> run_number = 0;
std::atomic<int> run_ranks = 0;

int find_free_line() {
    for (int i = 1; i < kMaxThreads; ++i) {
        Phase expected = Phase::absent;
        if (my_slot().line[i].phase.compare_exchange_strong(expected, Phase::computing)) {
            return i;
        }
    }
    const std::string text =
        "more than " + std::to_string(kMaxThreads) +
        " threads of a rank call MPI at a time: the course's tests follow no more";
    stop_all(Stop::forbidden, text);
    throw ForbiddenCall(text);
}

// A thread's claim to a line, given back when the thread ends. The main thread's is made first.
struct Claim {
    int index;
    explicit Claim(int i) : index(i) {
        my_slot().line[index].tid = static_cast<int>(syscall(SYS_gettid));
    }
    ~Claim() {
        if (index > 0) {
            my_slot().line[index].phase = Phase::absent;
            moved();
        }
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
};

bool is_main_thread() {
    return syscall(SYS_gettid) == getpid();
}

}  // namespace

void open_board(const std::string& folder, int size) {
    if (the_board != nullptr) {
        munmap(the_board, sizeof(Board));
    }
    the_board = &map_board(folder);
    job_size = size;
}

void set_world_rank(int rank) {
    my_rank = rank;
    slot_taken = rank;
}

void take_slot(int slot) {
    slot_taken = slot;
}

Board& board() {
    return *the_board;
}
Slot& slot_of(int rank) {
    return the_board->slot[rank];
}
Slot& my_slot() {
    return slot_of(slot_taken);
}
int world_rank() {
    return my_rank;
}
int world_size() {
    return job_size;
}
bool guarded() {
    return run_ranks > 0;
}
long current_run() {
    return run_number;
}
int participants() {
    return run_ranks;
}

void enter_run(long run, int ranks) {
    run_number = run;
    run_ranks = ranks;
    my_slot().ranks = ranks;
}

void leave_run() {
    run_ranks = 0;
    my_slot().ranks = 0;
}

void moved() {
    the_board->epoch.fetch_add(1);
}

Line& my_line() {
    thread_local const Claim claim(is_main_thread() ? 0 : find_free_line());
    return my_slot().line[claim.index];
}

void publish(Phase phase) {
    Line& line = my_line();
    line.since_s = now_s();
    line.phase = phase;
    moved();
}

bool stopped() {
    return the_board->died != 0 ||
           (the_board->stop != Stop::none && the_board->stopped_run == run_number);
}

void leave_if_stopped() {
    if (guarded() && stopped()) {
        throw Stopped(the_board->stop_message);
    }
}

void stop_all(Stop reason, const std::string& message) {
    // The number of the run is claimed by its negative. Whoever comes second leaves things as they are,
    // and does not go on before the first has said why: it may have lost its core right here.
    long seen = the_board->stopped_run;
    const long run = run_number;
    if (std::abs(seen) == run || !the_board->stopped_run.compare_exchange_strong(seen, -run)) {
        while (run > 0 && the_board->stopped_run == -run && the_board->died == 0) {
            sched_yield();
        }
        return;
    }
    std::snprintf(the_board->stop_message, sizeof the_board->stop_message, "%s", message.c_str());
    the_board->stop = reason;
    the_board->stopped_run = run;
    moved();
}

}  // namespace dist::harness
