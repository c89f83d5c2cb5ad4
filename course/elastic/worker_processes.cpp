#include "course/elastic/worker_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "course/runtime/error.hpp"

namespace dist::elastic {
namespace {

/// No signal comes to this thread while it lives, nor to what it starts before that asks for them.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_ = {};
};

/// This process's environment with the worker's variables, as exec takes it.
std::vector<std::string> environment_of(const WorkerRound& round, int local_rank, int restarts) {
    std::map<std::string, std::string> variables = {
        {"RANK", std::to_string(round.first_rank + local_rank)},
        {"LOCAL_RANK", std::to_string(local_rank)},
        {"WORLD_SIZE", std::to_string(round.world_size)},
        {"LOCAL_WORLD_SIZE", std::to_string(round.workers)},
        {"GROUP_RANK", std::to_string(round.node)},
        {"GROUP_WORLD_SIZE", std::to_string(round.nodes)},
        {"TORCHELASTIC_RESTART_COUNT", std::to_string(restarts)},
        {"SHARDLINGS_ROUND", std::to_string(round.number)}};
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        const std::size_t end = std::min(text.find('='), text.size());
        variables.emplace(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
    }
    std::vector<std::string> texts;
    texts.reserve(variables.size());
    for (const auto& [name, value] : variables) {
        texts.emplace_back(name).append("=").append(value);
    }
    return texts;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

// The next two run in a copy of a process that may have threads, and so allocate no memory.

/// Leads the group; no signal reaches it. `lifeline` can be read to its end when the agent has ended.
[[noreturn]] void lead_group(int lifeline) {
    setpgid(0, 0);
    dup2(lifeline, STDIN_FILENO);
    close_range(STDIN_FILENO + 1, ~0U, 0);  // what the agent closes is to be closed
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    kill(0, SIGKILL);
    _exit(1);
}

[[noreturn]] void be_worker(
    char* const* command, char* const* environment, pid_t leader, pid_t agent
) {
    setpgid(0, leader);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent) {
        _exit(1);  // it died before the line above
    }
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(command[0], command, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", command[0], strerrordesc_np(errno));
    _exit(127);
}

[[noreturn]] void fail(const char* call, int code) {
    throw Error(std::string("WorkerProcesses: ") + call + ": " + std::strerror(code));
}

}  // namespace

WorkerProcesses::WorkerProcesses(std::vector<std::string> command) : command_(std::move(command)) {
    expects(!command_.empty(), "WorkerProcesses: there must be a program to start");
}

WorkerProcesses::~WorkerProcesses() {
    WorkerProcesses::signal(SIGKILL);
    end_group();
}

/// Starts the process that leads the group, and ends it when this one does.
pid_t WorkerProcesses::fork_leader() {
    int ends[2] = {};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail("pipe2", errno);
    }
    const pid_t leader = fork();
    if (leader == 0) {
        lead_group(ends[0]);
    }
    const int error = errno;
    close(ends[0]);
    lifeline_ = ends[1];
    if (leader < 0) {
        close(lifeline_);
        fail("fork", error);
    }
    setpgid(leader, leader);  // here too: whoever comes first
    return leader;
}

void WorkerProcesses::start(const WorkerRound& round, int restarts) {
    expects(leader_ == 0, "WorkerProcesses: the workers of the round before must have ended");
    const SignalsBlocked blocked;
    const pid_t agent = getpid();
    leader_ = fork_leader();
    const std::vector<char*> command = pointers_to(command_);
    int error = 0;
    for (int w = 0; w < round.workers && error == 0; ++w) {
        std::vector<std::string> variables = environment_of(round, w, restarts);
        const std::vector<char*> environment = pointers_to(variables);
        const pid_t pid = fork();
        if (pid == 0) {
            be_worker(command.data(), environment.data(), leader_, agent);
        } else if (pid < 0) {
            error = errno;
        } else {
            setpgid(pid, leader_);
            workers_.push_back({.pid = pid});
        }
    }
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        workers_[w].waiter = std::thread(&WorkerProcesses::wait_for, this, static_cast<int>(w));
    }
    if (error != 0) {
        signal(SIGKILL);
        end_group();
        fail("fork", error);
    }
}

/// In a thread for each worker: so the time is right, whenever somebody asks.
void WorkerProcesses::wait_for(int local_rank) {
    Worker& worker = workers_[static_cast<std::size_t>(local_rank)];
    const auto id = static_cast<id_t>(worker.pid);
    siginfo_t info = {};
    while (waitid(P_PID, id, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const Clock::Duration at = clock_.now();
    const std::scoped_lock guard(mutex_);
    waitid(P_PID, id, &info, WEXITED);  // from here on the number may be another process's
    worker.is_alive = false;
    const bool has_exited = info.si_code == CLD_EXITED;
    ended_.push_back(
        {.local_rank = local_rank,
         .exit_code = has_exited ? info.si_status : 0,
         .signal = has_exited ? 0 : info.si_status,
         .at = at}
    );
}

std::vector<WorkerEnd> WorkerProcesses::ended() {
    std::vector<WorkerEnd> ended;
    bool any_alive = false;
    {
        const std::scoped_lock guard(mutex_);
        ended.swap(ended_);
        any_alive = std::ranges::any_of(workers_, &Worker::is_alive);
    }
    if (!any_alive) {
        end_group();
    }
    return ended;
}

void WorkerProcesses::signal(int number) {
    const std::scoped_lock guard(mutex_);
    if (leader_ == 0) {
        return;
    }
    for (const int sent : {number, SIGCONT}) {
        kill(-leader_, sent);
        for (const Worker& worker : workers_) {
            if (worker.is_alive && getpgid(worker.pid) != leader_) {
                kill(worker.pid, sent);
            }
        }
    }
}

/// Waits for the workers, which all have ended or will at once, and ends what else is in the group.
void WorkerProcesses::end_group() {
    if (leader_ == 0) {
        return;
    }
    for (Worker& worker : workers_) {
        worker.waiter.join();
    }
    workers_.clear();
    kill(-leader_, SIGKILL);
    waitpid(leader_, nullptr, 0);
    close(lifeline_);
    leader_ = 0;
}

}  // namespace dist::elastic
