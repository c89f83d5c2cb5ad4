#include "tests/harness/roll_call.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <execinfo.h>
#include <fcntl.h>
#include <fstream>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mpi.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/messages.hpp"

namespace dist::harness {
namespace {

constexpr int kPolls = 40;
constexpr double kQuiet_s = 0.05;
constexpr double kAsleep_s =
    0.5;  // how long a rank's other threads must have slept to count as waiting

Board* the_board = nullptr;
int my_rank = 0;
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
    throw std::runtime_error("more than " + std::to_string(kMaxThreads) + " threads call MPI");
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

bool waits_in_vain(Slot& slot, long epoch) {
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

// A posted send and a posted receive that belong together.
bool message_on_its_way() {
    for (int a = 0; a < run_ranks; ++a) {
        for (Message& send : slot_of(a).message) {
            const int b = send.peer;
            if (send.used == 0 || send.is_send == 0 || b < 0 || b >= job_size) {
                continue;
            }
            for (Message& receive : slot_of(b).message) {
                if (receive.used != 0 && receive.is_send == 0 && receive.group == send.group &&
                    (receive.peer == a || receive.peer == MPI_ANY_SOURCE) &&
                    (receive.tag == send.tag || receive.tag == MPI_ANY_TAG)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool all_wait_in_vain() {
    const long epoch = the_board->epoch;
    for (int r = 0; r < run_ranks; ++r) {
        if (!waits_in_vain(slot_of(r), epoch)) {
            return false;
        }
    }
    return !message_on_its_way() && the_board->epoch == epoch;
}

}  // namespace

void open_board(const std::string& folder, int rank, int size) {
    const std::string file = folder + "/board";
    const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
    void* memory =
        descriptor < 0
            ? MAP_FAILED
            : mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("cannot map " + file);
    }
    close(descriptor);
    the_board = static_cast<Board*>(memory);
    my_rank = rank;
    job_size = size;
}

Board& board() {
    return *the_board;
}
Slot& slot_of(int rank) {
    return the_board->slot[rank];
}
Slot& my_slot() {
    return slot_of(my_rank);
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
    // The number of the run is claimed by its negative; whoever comes second leaves things as they are.
    long seen = the_board->stopped_run;
    const long run = run_number;
    if (std::abs(seen) == run || !the_board->stopped_run.compare_exchange_strong(seen, -run)) {
        return;
    }
    std::snprintf(the_board->stop_message, sizeof the_board->stop_message, "%s", message.c_str());
    the_board->stop = reason;
    the_board->stopped_run = run;
    moved();
}

Wait::Wait(const std::string& call, int peer, int tag) : quiet_since_s_(now_s()), line_(my_line()) {
    leave_if_stopped();
    std::snprintf(line_.call, sizeof line_.call, "%s", call.c_str());
    line_.peer = peer;
    line_.tag = tag;
    line_.polls = 0;
    line_.frames.count = 0;
    line_.seen_epoch = the_board->epoch.load();
    publish(Phase::waiting);
}

Wait::~Wait() {
    publish(Phase::computing);
}

void Wait::poll() {
    if (stopped() && !framed_) {
        capture_frames(line_.frames);
    }
    leave_if_stopped();
    const long epoch = the_board->epoch;
    if (line_.seen_epoch != epoch) {
        line_.polls = 0;
        line_.seen_epoch = epoch;
        quiet_since_s_ = now_s();
    }
    line_.polls.fetch_add(1);
    note_finished_messages();
    const double quiet_s = now_s() - quiet_since_s_;
    if (!framed_ && line_.polls > kPolls / 2 && quiet_s > kQuiet_s / 2) {
        capture_frames(line_.frames);
        framed_ = true;
    }
    if (line_.polls > kPolls && quiet_s > kQuiet_s) {
        if (quiet_s > kAsleep_s && my_slot().asleep_epoch != epoch && other_threads_asleep()) {
            my_slot().asleep_epoch = epoch;
        }
        if (all_wait_in_vain()) {
            stop_all(Stop::deadlock, "all ranks wait and nothing moves");
            leave_if_stopped();
        }
    }
    sched_yield();
}

std::uint64_t in_executable(const void* address) {
    struct Image {
        std::uint64_t base, begin, end;
    };
    static const Image image = [] {
        Image found{};
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* out) {
                auto* result = static_cast<Image*>(out);
                *result = {info->dlpi_addr, ~std::uint64_t{0}, 0};
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    const auto& segment = info->dlpi_phdr[i];
                    if (segment.p_type == PT_LOAD) {
                        const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
                        result->begin = std::min(result->begin, begin);
                        result->end = std::max(result->end, begin + segment.p_memsz);
                    }
                }
                return 1;  // the first image is the executable
            },
            &found
        );
        return found;
    }();
    const auto a = reinterpret_cast<std::uint64_t>(address);
    return a >= image.begin && a < image.end ? a - image.base : 0;
}

void capture_frames(Frames& frames) {
    std::array<void*, 64> stack{};
    const int depth = backtrace(stack.data(), static_cast<int>(stack.size()));
    int count = 0;
    for (int i = 1; i < depth && count < kMaxFrames; ++i) {
        // a return address points behind the call: one back is inside it
        const std::uint64_t address = in_executable(static_cast<char*>(stack[i]) - 1);
        if (address != 0) {
            frames.address[count++] = address;
        }
    }
    frames.count = count;
}

}  // namespace dist::harness
