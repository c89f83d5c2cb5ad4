#include "tests/harness/watcher.hpp"

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
#include "tests/harness/crash.hpp"
#include "tests/harness/roll_call.hpp"

namespace dist::harness {
namespace {

double number_from(const char* variable, double otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atof(text);
}

double resident_mb(pid_t pid) {
    std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double cpu_s(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string field;
    for (int i = 0; i < 13 && stat >> field; ++i) {  // the name, field 2, is ours: it has no spaces
    }
    double user = 0;
    double system = 0;
    stat >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double file_mb(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? static_cast<double>(info.st_size) / 1e6 : 0;
}

// CPU seconds that the rank has computed since anything changed in its line, inside a test body.
class Progress {
  public:
    double idle_cpu_s(pid_t pid) {
        const double now = cpu_s(pid);
        const double mark = my_slot().line[0].since_s;
        const bool computing = my_slot().ranks > 0 && my_slot().line[0].phase == Phase::computing;
        if (mark != mark_ || !computing) {
            mark_ = mark;
            start_s_ = now;
        }
        if (const long run = my_slot().run_started; run != run_ || my_slot().ranks == 0) {
            run_ = run;
            run_start_s_ = now;
        }
        // A loop that calls MPI makes progress of a kind, but not for ever.
        constexpr double kWithCalls = 8;
        return std::max(now - start_s_, (now - run_start_s_) / kWithCalls);
    }

  private:
    double mark_ = -1;
    double start_s_ = 0;
    long run_ = -1;
    double run_start_s_ = 0;
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

void enforce_limits(pid_t pid, const std::string& output_file, Progress& progress) {
    static const double memory_mb = number_from(kEnvMemoryMb, 1024);
    static const double output_mb = number_from(kEnvOutputMb, 8);
    static const double compute_s = number_from(kEnvComputeS, 5);
    if (my_slot().end != End::none || my_slot().ranks == 0) {
        return;
    }
    if (resident_mb(pid) > memory_mb) {
        kill_rank(pid, End::memory_limit);
    } else if (file_mb(output_file) > output_mb) {
        kill_rank(pid, End::output_limit);
    } else if (progress.idle_cpu_s(pid) > compute_s) {
        kill_rank(pid, End::time_limit);
    }
}

void note_end(int status) {
    Slot& slot = my_slot();
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

[[noreturn]] void watch(pid_t pid, const std::string& output_file) {
    Progress progress;
    int status = 0;
    double finished_at_s = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(10'000);
        enforce_limits(pid, output_file, progress);
        if (my_slot().end == End::finished || my_slot().end == End::left) {
            finished_at_s = finished_at_s == 0 ? now_s() : finished_at_s;
            if (now_s() - finished_at_s > 3.0) {
                kill(
                    pid, SIGKILL
                );  // it hangs in MPI_Finalize: a stopped test left messages behind
            }
        }
    }
    note_end(status);
    await_others();
    _exit(my_slot().end == End::finished ? 0 : 1);
}

}  // namespace

void fork_watched_rank(const std::string& output_file) {
    const pid_t parent = getpid();
    my_slot().watcher = parent;
    const pid_t pid = fork();
    if (pid < 0) {
        throw std::runtime_error("fork failed: too many processes?");
    }
    if (pid > 0) {
        std::signal(SIGINT, SIG_IGN);  // mpirun ends us; the child dies with us
        watch(pid, output_file);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    my_slot().pid = getpid();
}

}  // namespace dist::harness
