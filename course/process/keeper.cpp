#include "course/process/keeper.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// between asking a program to end and ending it; an mpirun that has no time leaves files behind
constexpr auto kGrace = std::chrono::seconds(4);
constexpr long kLookEveryNs = 25'000'000;
constexpr int kMostScans = 200;  // each ends what was started during the one before

// A keeper is the copy of a process that may have threads. It allocates memory all the same: glibc
// leaves the heap of such a copy in order.

/// The parent of a process; 0: it is gone.
pid_t parent_of(const fs::path& process) {
    std::ifstream file(process / "stat");
    std::string stat;
    std::getline(file, stat);
    // "PID (NAME) STATE PARENT ...", and the name may hold anything
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos ? 0 : std::atoi(stat.c_str() + name_end + 4);
}

std::vector<pid_t> children(const std::set<pid_t>& spared) {
    std::vector<pid_t> found;
    std::error_code gone;
    for (const auto& process : fs::directory_iterator("/proc", gone)) {
        const pid_t pid = std::atoi(process.path().filename().c_str());
        if (pid > 0 && parent_of(process.path()) == getpid() && !spared.contains(pid)) {
            found.push_back(pid);
        }
    }
    return found;
}

/// Ends the children of this process, but for those that are spared, and theirs as they fall to it.
/// Returns how many there were.
int end_children(const std::set<pid_t>& spared = {}) {
    int ended = 0;
    for (int i = 0; i < kMostScans; ++i) {
        pid_t reaped = 1;  // those that had ended already are not counted
        while (spared.empty() && reaped > 0) {
            reaped = waitpid(-1, nullptr, WNOHANG);
        }
        if (reaped < 0) {
            break;  // the usual case: there is none
        }
        const std::vector<pid_t> found = children(spared);
        if (found.empty()) {
            break;
        }
        for (const pid_t pid : found) {
            kill(pid, SIGKILL);
        }
        for (const pid_t pid : found) {
            waitpid(pid, nullptr, 0);
        }
        ended += static_cast<int>(found.size());
    }
    return ended;
}

/// Waits for the program, and reaps whatever else ends before it. Returns the program's status.
int await(pid_t program, const sigset_t& awaited) {
    int result = -1;
    bool asked = false;
    Clock::time_point asked_at;
    while (result < 0) {
        const timespec wait = {asked ? 0 : 1, asked ? kLookEveryNs : 0};
        const int signal = sigtimedwait(&awaited, nullptr, &wait);
        if (signal == SIGUSR1) {
            kill(-program, SIGKILL);
        } else if (signal > 0 && signal != SIGCHLD && !asked) {
            kill(-program, SIGTERM);
            asked = true;
            asked_at = Clock::now();
        }
        if (asked && Clock::now() - asked_at > kGrace) {
            kill(-program, SIGKILL);
        }
        int status = 0;
        for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0;
             pid = waitpid(-1, &status, WNOHANG)) {
            result = pid == program ? status : result;
        }
    }
    return result;
}

[[noreturn]] void keep(const std::function<void()>& become, int report, pid_t command) {
    setpgid(0, 0);  // Ctrl-C is for the command, which then says what to do
    sigset_t before;
    sigset_t awaited;
    sigemptyset(&awaited);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
        sigaddset(&awaited, signal);
    }
    sigprocmask(SIG_BLOCK, &awaited, &before);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getppid() != command) {
        _exit(1);  // it died before the lines above
    }
    const pid_t keeper = getpid();
    const pid_t program = fork();
    if (program == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper) {
            _exit(1);
        }
        sigprocmask(SIG_SETMASK, &before, nullptr);
        become();
        _exit(127);
    }
    Kept kept{-1, 0};
    if (program > 0) {
        setpgid(program, program);  // here too: whoever comes first
        kept.status = await(program, awaited);
        kept.left = end_children();
    }
    _exit(write(report, &kept, sizeof kept) == sizeof kept ? 0 : 1);
}

/// The keepers that live; any other child of this process has lost its own.
struct Keepers {
    std::mutex mutex;
    std::set<pid_t> live;
    Keepers() { prctl(PR_SET_CHILD_SUBREAPER, 1); }  // what a keeper kept falls to this process
};

Keepers& keepers() {
    static Keepers all;
    return all;
}

}  // namespace

pid_t fork_keeper(const std::function<void()>& become, int report) {
    const std::lock_guard lock(keepers().mutex);
    const pid_t command = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        keep(become, report, command);
    }
    if (pid > 0) {
        keepers().live.insert(pid);
    }
    return pid;
}

void keeper_ended(pid_t keeper, bool was_killed) {
    const std::lock_guard lock(keepers().mutex);
    keepers().live.erase(keeper);
    if (was_killed) {
        end_children(keepers().live);
    }
}

}  // namespace dist::cli
