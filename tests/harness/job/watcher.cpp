#include "tests/harness/job/watcher.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/job/use.hpp"
#include "tests/harness/proxy/obey_mpirun.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kWatchUs = 5'000;  // us, between two looks at the rank

double resident_mb(pid_t pid) {
    std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double file_mb(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? static_cast<double>(info.st_size) / 1e6 : 0;
}

// What the rank has done, inside a test body, since anything changed in its line.
class Progress {
  public:
    void look(pid_t pid) {
        const auto [cpu_s, asleep] = use_of(pid);
        const double mark = my_slot().line[0].since_s;
        const bool computing = my_slot().ranks > 0 && my_slot().recording == 0 &&
                               my_slot().line[0].phase == Phase::computing;
        if (mark != mark_ || !computing) {
            mark_ = mark;
            start_s_ = cpu_s;
            asleep_s_ = 0;
        }
        // who has no core is awake, in any of its threads; and where this watcher had none for long, nor had the rank
        asleep_s_ += std::min(now_s() - looked_s_, kBlinkS);
        looked_s_ = now_s();
        if (!asleep || cpu_s > cpu_s_ + kBlinkS || !rest_of(pid).asleep) {
            cpu_s_ = cpu_s;
            asleep_s_ = 0;
        }
        // who waits may do so by looking again and again: on a busy machine, for long
        computed_s_ += computing ? cpu_s - seen_s_ : 0;
        seen_s_ = cpu_s;
        if (const long run = my_slot().run_started; run != run_ || my_slot().ranks == 0) {
            run_ = run;
            computed_s_ = 0;
        }
        // A loop that calls MPI makes progress of a kind, but not for ever.
        constexpr double kWithCalls = 8;
        idle_cpu_s_ = std::max(cpu_s - start_s_, computed_s_ / kWithCalls);
    }

    /// CPU seconds that it has computed.
    [[nodiscard]] double idle_cpu_s() const { return idle_cpu_s_; }

    /// Seconds that it has slept, all its threads together having done nothing, as far as it could have had a core.
    [[nodiscard]] double asleep_s() const { return asleep_s_; }

  private:
    static constexpr double kBlinkS = 0.05;  // CPU seconds: who sleeps in a loop wakes up, too
    double mark_ = -1;
    double start_s_ = 0;
    double asleep_s_ = 0;
    double looked_s_ = now_s();
    double cpu_s_ = 0;
    long run_ = -1;
    double seen_s_ = 0;
    double computed_s_ = 0;  // in this body
    double idle_cpu_s_ = 0;
};

void kill_rank(pid_t pid, End reason) {
    Slot& slot = my_slot();
    kill(pid, kWhereSignal);  // it leaves its stack on the board
    for (int i = 0; i < 20 && slot.end_frames.count == 0; ++i) {
        usleep(10'000);
    }
    slot.end = reason;
    kill(pid, SIGKILL);
}

struct Limits {
    double memory_mb = number_from(kEnvMemoryMb, 1024);
    double output_mb = number_from(kEnvOutputMb, 8);
    double compute_s = most_computing_s();
};

void enforce_limits(
    pid_t pid, const std::string& output_file, const Limits& limits, Progress& progress
) {
    if (my_slot().end != End::none || my_slot().ranks == 0) {
        return;
    }
    progress.look(pid);
    if (resident_mb(pid) > limits.memory_mb) {
        kill_rank(pid, End::memory_limit);
    } else if (file_mb(output_file) > limits.output_mb) {
        kill_rank(pid, End::output_limit);
    } else if (progress.idle_cpu_s() > limits.compute_s) {
        kill_rank(pid, End::time_limit);
    } else if (progress.asleep_s() > 2 * limits.compute_s) {
        kill_rank(pid, End::asleep);
    }
}

void note_end(int status) {
    Slot& slot = my_slot();
    if (slot.end == End::none && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) {
        note_if_full();  // so ends a write to a mapped file that finds no room
    }
    if (slot.end == End::none || (slot.end == End::finished && WIFSIGNALED(status))) {
        if (slot.end == End::finished) {
            return;  // killed while MPI was ending: the records are complete
        }
        slot.end = WIFSIGNALED(status) ? End::signalled : End::exited;
        slot.end_code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (slot.end != End::finished && slot.end != End::left) {
        int nobody = 0;
        board().died.compare_exchange_strong(nobody, world_rank() + 1);
        moved();
    }
}

// Gives the other ranks time to write down where they stood: mpirun kills them when this one exits.
void await_others() {
    const Stopwatch watch;
    while (watch.elapsed_s() < 2.0) {
        bool all_ended = true;
        for (int r = 0; r < world_size(); ++r) {
            all_ended = all_ended && slot_of(r).end != End::none;
        }
        if (all_ended) {
            return;
        }
        usleep(5'000);
    }
}

bool proxy_is_gone() {
    return kill(my_slot().proxy, 0) != 0;
}

[[noreturn]] void leave_with_the_job(pid_t pid) {
    End none = End::none;
    my_slot().end.compare_exchange_strong(none, End::left);
    kill(pid, SIGKILL);
    _exit(1);
}

// A stopped test leaves messages behind, and MPI_Finalize may wait for them without end. Where none was stopped,
// it is the machine that is slow: whoever is killed then takes the job's other ranks with it.
double most_to_end_mpi_s() {
    return board().stopped_run != 0 ? 3 : 60;
}

void watch(pid_t pid, const std::string& output_file) {
    const Limits limits;
    Progress progress;
    int status = 0;
    double finished_at_s = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(kWatchUs);
        enforce_limits(pid, output_file, limits, progress);
        if (mpirun_ends_us || proxy_is_gone()) {
            leave_with_the_job(pid);
        }
        if (my_slot().end == End::finished || my_slot().end == End::left) {
            finished_at_s = finished_at_s == 0 ? now_s() : finished_at_s;
            if (now_s() - finished_at_s > most_to_end_mpi_s()) {
                kill(pid, SIGKILL);
            }
        }
    }
    if (mpirun_ends_us) {
        leave_with_the_job(pid);
    }
    note_end(status);
    await_others();
}

// A process that watches over one rank after the other hands this on to none of them.
void obey_signals_again() {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        std::signal(signal, SIG_DFL);
    }
}

}  // namespace

bool fork_watched_rank(const std::string& output_file) {
    const pid_t parent = getpid();
    my_slot().watcher = parent;
    const pid_t pid = fork();
    if (pid < 0) {
        throw std::runtime_error("fork failed: too many processes?");
    }
    if (pid > 0) {
        obey_mpirun_only(board().mpirun);
        watch(pid, output_file);
        return false;
    }
    obey_signals_again();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    my_slot().pid = getpid();
    return true;
}

}  // namespace dist::harness
