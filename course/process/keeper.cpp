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
// what the program has started may end by itself after it: where ranks were many and cores are few, that takes a while
constexpr auto kAfterwards = std::chrono::seconds(4);
constexpr long kLookEveryNs = 25'000'000;
constexpr int kMostScans = 200;  // each ends what was started during the one before

// A keeper is the copy of a process that may have threads. It allocates memory all the same: glibc
// leaves the heap of such a copy in order.

/// What /proc says of a process: its parent, 0 where it is gone; and 'Z' where it has ended and nobody has asked how.
struct Seen {
    pid_t parent = 0;
    char state = 'Z';
};

Seen look_at(const fs::path& process) {
    std::ifstream file(process / "stat");
    std::string stat;
    std::getline(file, stat);
    // "PID (NAME) STATE PARENT ...", and the name may hold anything
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos
               ? Seen{}
               : Seen{std::atoi(stat.c_str() + name_end + 4), stat[name_end + 2]};
}

struct Child {
    pid_t pid;
    bool counts;  // it has not ended by itself, and is neither known nor the parent of one that is
};

std::vector<Child> children(const std::set<pid_t>& spared, const IsKnown& is_known) {
    std::vector<Child> found;
    std::set<pid_t> ours;
    std::error_code gone;
    for (const auto& process : fs::directory_iterator("/proc", gone)) {
        const pid_t pid = std::atoi(process.path().filename().c_str());
        const Seen seen = pid > 0 ? look_at(process.path()) : Seen{};
        if (seen.parent == getpid() && !spared.contains(pid)) {
            found.push_back({pid, seen.state != 'Z'});
        }
        if (pid > 0 && is_known && is_known(pid)) {
            ours.insert({pid, seen.parent});
        }
    }
    for (Child& child : found) {
        child.counts = child.counts && !ours.contains(child.pid);
    }
    return found;
}

/// Ends the children of this process, but for those that are spared, and theirs as they fall to it.
/// Returns how many of them count.
int end_children(const std::set<pid_t>& spared = {}, const IsKnown& is_known = nullptr) {
    int ended = 0;
    for (int i = 0; i < kMostScans; ++i) {
        pid_t reaped = 1;
        while (spared.empty() && reaped > 0) {
            reaped = waitpid(-1, nullptr, WNOHANG);
        }
        if (reaped < 0) {
            break;  // the usual case: there is none
        }
        const std::vector<Child> found = children(spared, is_known);
        if (found.empty()) {
            break;
        }
        for (const Child& child : found) {
            kill(child.pid, SIGKILL);
            ended += child.counts ? 1 : 0;
        }
        for (const Child& child : found) {
            waitpid(child.pid, nullptr, 0);
        }
    }
    return ended;
}

/// Reaps the children of this process as they end, until none is left or the time is over.
void let_children_end() {
    const auto begin = Clock::now();
    const timespec nap = {0, kLookEveryNs / 5};
    pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    while (reaped >= 0 && Clock::now() - begin < kAfterwards) {
        if (reaped == 0) {
            nanosleep(&nap, nullptr);
        }
        reaped = waitpid(-1, nullptr, WNOHANG);
    }
}

/// Waits for the program, and reaps whatever else ends before it. Returns the program's status.
/// `at_once`  whether it was to end without a word.
int await(pid_t program, const sigset_t& awaited, bool& at_once) {
    int result = -1;
    bool asked = false;
    Clock::time_point asked_at;
    while (result < 0) {
        const timespec wait = {asked ? 0 : 1, asked ? kLookEveryNs : 0};
        const int signal = sigtimedwait(&awaited, nullptr, &wait);
        if (signal == SIGUSR1) {
            at_once = true;
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

[[noreturn]] void keep(
    const std::function<void()>& become, int report, const IsKnown& is_known, pid_t command
) {
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
        bool at_once = false;
        kept.status = await(program, awaited, at_once);
        if (!at_once) {
            let_children_end();
        }
        kept.left = end_children({}, is_known);
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

pid_t fork_keeper(const std::function<void()>& become, int report, const IsKnown& is_known) {
    const std::lock_guard lock(keepers().mutex);
    const pid_t command = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        keep(become, report, is_known, command);
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
