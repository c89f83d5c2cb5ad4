#include "tests/harness/processes/processes.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "course/runtime/clock.hpp"
#include "course/trace/rounds.hpp"
#include "course/trace/timeline.hpp"
#include "tests/harness/job/memory.hpp"
#include "tests/harness/job/over_fork.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/job/use.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/processes/handed_over.hpp"
#include "tests/harness/processes/standstill.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kPollUs = 1000;  // us

// They hang when nobody has run for so many looks, one after so many naps: a second and a half, or longer where this process
// gets no core itself.
constexpr int kIdleLooks = 75;
constexpr int kNapsToLook = 20;

// What a rank leaves behind, written while it lives.
struct Shared {
    SharedLog log;
    std::atomic<int> finished;
    HandedOver handed_over;
};

// In memory that all of them share.
class SharedMemory {
  public:
    explicit SharedMemory(int p) : bytes_(sizeof(Shared) * static_cast<std::size_t>(p)) {
        void* const place =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) {
            throw std::runtime_error("no memory to share with the ranks");
        }
        of_ = static_cast<Shared*>(place);
    }
    ~SharedMemory() { munmap(of_, bytes_); }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    Shared& operator[](int rank) const { return of_[rank]; }

  private:
    std::size_t bytes_;
    Shared* of_;
};

struct Child {
    pid_t pid = 0;
    bool ended = false;
    int status = 0;
    double cpu_s = 0;
    int steps = 0;
    Rest rest = {};

    // Whether a thread of it has run since this was last asked.
    bool has_run() {
        const Rest before = std::exchange(rest, rest_of(pid));
        return !rest.asleep || rest != before;
    }

    // Whether it has done much since it was last looked at: who looks in vain again and again sleeps in between.
    bool moves(const Shared& shared) {
        const auto [now_cpu_s, asleep] = use_of(pid);
        const int now_steps = shared.log.steps;
        const bool moved = !asleep || now_cpu_s > cpu_s || now_steps != steps;
        cpu_s = now_cpu_s;
        steps = now_steps;
        return moved;
    }
};

// Nobody outlives the body that started them.
struct Children : std::vector<Child> {
    using std::vector<Child>::vector;
    ~Children() {
        for (const Child& child : *this) {
            if (child.pid > 0 && !child.ended) {
                kill(child.pid, SIGKILL);
                waitpid(child.pid, nullptr, 0);
            }
        }
    }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
};

void limit_computing() {
    const auto seconds = static_cast<rlim_t>(std::max(1.0, most_computing_s()));
    const rlimit limit = {seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
}

[[noreturn]] void be_rank(
    int rank, int p, const std::function<void(int, int)>& body, pid_t parent, Shared& shared
) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    limit_computing();
    take_slot(slot_number(rank));
    my_slot().line[0].tid = getpid();  // the first thread's line is its own since before the fork
    forbid_all_calls("This rank is a process that knows nothing of MPI.");
    current_test() = TestRun{};
    reset_traffic();
    log_into(shared.log);
    try {
        body(rank, p);
    } catch (...) {
        if (!note_course_exception()) {
            note_exception();
        }
    }
    shared.handed_over.write(current_test());
    shared.finished = 1;
    std::fflush(nullptr);
    _exit(0);
}

void start(
    Children& children, const std::function<void(int, int)>& body, const SharedMemory& shared
) {
    std::fflush(nullptr);  // or each child would write it as well
    const pid_t parent = getpid();
    const int p = static_cast<int>(children.size());
    for (int rank = 0; rank < p; ++rank) {
        clear_slot(rank);
        const pid_t pid = fork();
        if (pid == 0) {
            be_rank(rank, p, body, parent, shared[rank]);
        }
        if (pid < 0) {
            throw std::runtime_error("fork failed: too many processes?");
        }
        children[static_cast<std::size_t>(rank)].pid = pid;
    }
}

bool any_has_run(Children& children) {
    bool any = false;
    for (Child& child : children) {
        any = (!child.ended && child.has_run()) || any;
    }
    return any;
}

std::vector<pid_t> alive(const Children& children) {
    std::vector<pid_t> pids;
    for (const Child& child : children) {
        pids.push_back(child.ended ? 0 : child.pid);
    }
    return pids;
}

// Since when nothing has moved, and how often that was looked at.
class Quiet {
  public:
    void moved() {
        since_s_ = now_s();
        looks_ = 0;
    }
    void look() {
        if (board().epoch != epoch_) {
            moved();
        }
        ++looks_;
    }
    // Who waits for the ranks is not asleep.
    void go_on() {
        publish(Phase::computing);
        epoch_ = board().epoch;
    }
    [[nodiscard]] bool is_long() const { return looks_ > kLooks && seconds() > kQuietS; }
    [[nodiscard]] double seconds() const { return now_s() - since_s_; }

  private:
    static constexpr int kLooks = 40;
    static constexpr double kQuietS = 0.05;

    double since_s_ = now_s();
    int looks_ = 0;
    long epoch_ = board().epoch;
};

enum class Ended { all, deadlock, standstill };

// Waits until all have ended, or nothing can move any more.
Ended wait_for(Children& children, const SharedMemory& shared) {
    Quiet quiet;
    int idle_looks = 0;
    bool all_ended = false;
    for (int naps = 1; !all_ended; usleep(kPollUs), ++naps) {
        all_ended = true;
        quiet.look();
        for (int rank = 0; Child & child : children) {
            const Shared& its = shared[rank++];
            if (child.ended) {
                continue;
            }
            if (waitpid(child.pid, &child.status, WNOHANG) == child.pid) {
                child.ended = true;
                quiet.moved();
                idle_looks = 0;
                continue;
            }
            all_ended = false;
            if (child.moves(its)) {
                quiet.moved();
            }
        }
        if (!all_ended && quiet.is_long() && is_deadlock(alive(children), quiet.seconds())) {
            return Ended::deadlock;
        }
        if (naps % kNapsToLook == 0) {
            idle_looks = any_has_run(children) ? 0 : idle_looks + 1;
        }
        if (idle_looks > kIdleLooks || quiet.seconds() > most_computing_s()) {
            return Ended::standstill;
        }
        quiet.go_on();
    }
    return Ended::all;
}

std::string how_it_died(int status) {
    if (WIFEXITED(status)) {
        return "exited with status " + std::to_string(WEXITSTATUS(status)) +
               " before its body ended";
    }
    const char* const name = sigabbrev_np(WTERMSIG(status));
    return name == nullptr ? "killed by signal " + std::to_string(WTERMSIG(status))
                           : std::string("killed by SIG") + name;
}

void note_death(ProcessRun& run, int rank, int status, const std::set<int>& may_die) {
    const Frames& frames = slot_of(slot_number(rank)).end_frames;
    run.phase = Phase::died;
    run.frames.assign(frames.address, frames.address + frames.count);
    run.died = how_it_died(status);
    const bool for_ever = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
    if (for_ever || !may_die.contains(rank)) {
        run.outcome = Outcome::fail;
        run.message = "rank " + std::to_string(rank) + (WIFSIGNALED(status) ? " was " : " ") +
                      run.died + (for_ever ? ": it computed without an end" : "");
    }
}

// How the ranks ended; those that have not, end here.
std::vector<ProcessRun> outcomes(
    Children& children, Ended ended, const SharedMemory& shared, const std::set<int>& may_die
) {
    const std::vector<pid_t> left = alive(children);
    const std::string why = ended == Ended::deadlock ? "" : why_nothing_moves(left);
    std::vector<ProcessRun> runs = end_all(left, why);
    for (int rank = 0; Child & child : children) {
        if (!child.ended) {
            child.ended = true;
        } else if (shared[rank].finished != 0) {
            shared[rank].handed_over.read(runs[static_cast<std::size_t>(rank)]);
        } else {
            note_death(runs[static_cast<std::size_t>(rank)], rank, child.status, may_die);
        }
        ++rank;
    }
    return runs;
}

trace::Log log_of(const Shared& shared) {
    trace::Log log;
    log.steps.assign(shared.log.step, shared.log.step + shared.log.steps);
    log.cut = shared.log.steps == SharedLog::kRoom;
    return log;
}

std::vector<Traffic> traffic_of(const std::vector<std::vector<trace::Step>>& by_rank) {
    const int rounds = play(by_rank, false).rounds;
    const int half_duplex_rounds = play(by_rank, true).rounds;
    std::vector<Traffic> all;
    for (const std::vector<trace::Step>& log : by_rank) {
        Traffic& traffic = all.emplace_back();
        traffic.rounds = rounds;
        traffic.half_duplex_rounds = half_duplex_rounds;
        for (const trace::Step& step : log) {
            if (step.did == Did::send) {
                ++traffic.messages_sent;
                traffic.bytes_sent += step.bytes;
                traffic.sent_to.insert(step.peer);
            } else if (step.did == Did::wait_receive) {
                ++traffic.messages_received;
                traffic.bytes_received += step.bytes;
                traffic.received_from.insert(step.peer);
            }
        }
    }
    return all;
}

}  // namespace

Processes on_processes(
    int p, const std::function<void(int rank, int p)>& body, const ProcessesMay& may
) {
    const Uncounted harness;
    if (p < 1 || p + world_size() > kMaxRanks) {
        throw std::logic_error("on_processes: the board has no room for so many ranks");
    }
    keep_locks_over_fork();
    const SharedMemory shared(p);
    Children children(static_cast<std::size_t>(p));
    start(children, body, shared);
    if (may.go_on_alone) {
        may.go_on_alone();
    }
    const Ended ended = wait_for(children, shared);
    TestRun& test = current_test();
    test.processes = outcomes(children, ended, shared, may.die);
    Processes run;
    std::vector<std::vector<trace::Step>> steps;
    std::vector<trace::Log> all_logs;
    for (int rank = 0; ProcessRun & one : test.processes) {
        one.log = log_of(shared[rank++]);
        worsen(one.outcome, one.message);
        run.passed = run.passed && one.outcome == Outcome::pass && one.failures.empty();
        run.died.push_back(one.died);
        steps.push_back(one.log.steps);
        all_logs.push_back(one.log);
    }
    if (ended != Ended::all) {
        throw Stopped("ranks hang");  // all that comes behind would hang as well
    }
    run.traffic = traffic_of(steps);
    run.messages = trace::timeline_of(all_logs).messages;
    leave_if_stopped();
    return run;
}

Comparison within(const Processes& run, int rank, const Cost& cost) {
    const auto r = static_cast<std::size_t>(rank);
    const trace::Limits before = current_test().limits;
    const Comparison comparison = within(run.traffic.at(r), cost);
    if (!comparison.equal && r < current_test().processes.size()) {
        current_test().processes[r].log.limits = current_test().limits;
    }
    current_test().limits = before;
    return comparison;
}

}  // namespace dist::harness
