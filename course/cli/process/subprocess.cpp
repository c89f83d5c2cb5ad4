#include "course/cli/process/subprocess.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course/cli/process/error.hpp"

namespace dist::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 8U << 20U;  // bytes kept; a program may write without end
constexpr int kLookEveryMs = 25;
constexpr double kGraceS = 2.0;  // between asking a program to end and ending it

std::atomic<bool> signal_came = false;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Pointers as exec wants them; `texts` must outlive them.
std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
}

/// This process's environment, with additions that win.
std::vector<std::string> merged(const Environment& additions) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        bool replaced = false;
        for (const auto& [key, value] : additions) {
            replaced = replaced || key == name;
        }
        if (!replaced) {
            result.emplace_back(text);
        }
    }
    for (const auto& [key, value] : additions) {
        result.push_back(fmt::format("{}={}", key, value));
    }
    return result;
}

/// A started program and the reading end of its output.
struct Child {
    pid_t pid = 0;
    int output = -1;
};

/// Everything is made before the fork: between fork and exec only system calls are safe.
Child start(
    const std::vector<std::string>& command, const RunOptions& options, const Context& context
) {
    std::vector<std::string> words = command;
    std::vector<std::string> environment = merged(options.environment);
    const std::vector<char*> argv = pointers(words);
    const std::vector<char*> envp = pointers(environment);
    const std::string folder = options.folder.empty() ? context.root : options.folder;
    std::array<int, 2> output = {-1, -1};
    if (pipe2(output.data(), O_CLOEXEC) != 0) {
        throw CommandError(exit_status::kOurs, fmt::format("pipe: {}", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        close(output[0]);
        close(output[1]);
        throw CommandError(exit_status::kOurs, fmt::format("fork: {}", std::strerror(errno)));
    }
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);  // the parent died before the line above
        }
        const int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, STDIN_FILENO);
        if (!options.attached) {
            dup2(output[1], STDOUT_FILENO);
            dup2(output[1], STDERR_FILENO);
        }
        if (chdir(folder.c_str()) == 0) {
            execvpe(argv[0], argv.data(), envp.data());
        }
        _exit(127);
    }
    setpgid(pid, pid);  // here too: whoever comes first
    close(output[1]);
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    return {pid, output[0]};
}

/// Reads what is there; false at the end of the output.
bool drain(int from, std::string& into) {
    std::array<char, 16384> block{};
    while (true) {
        const ssize_t count = read(from, block.data(), block.size());
        if (count > 0) {
            const std::size_t room = kMostOutput - std::min(kMostOutput, into.size());
            into.append(block.data(), std::min<std::size_t>(room, static_cast<std::size_t>(count)));
        } else {
            return count < 0 && (errno == EAGAIN || errno == EINTR);
        }
    }
}

/// Ends the whole group: kindly, then not. What else needs an end (ranks in groups of their own) is
/// the business of the program that started it, which gets the time to do so.
int stop(pid_t pid) {
    int status = 0;
    kill(-pid, SIGTERM);
    const auto asked = Clock::now();
    bool forced = false;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (!forced && seconds_since(asked) > kGraceS) {
            kill(-pid, SIGKILL);
            forced = true;
        }
        poll(nullptr, 0, kLookEveryMs);
    }
    kill(-pid, SIGKILL);
    while (waitpid(-pid, nullptr, 0) > 0) {  // the rest of the group is ours now: see catch_signals
    }
    return status;
}

}  // namespace

void Context::spend(const std::string& part, double seconds) {
    static std::mutex one_at_a_time;  // check builds while it runs
    const std::lock_guard lock(one_at_a_time);
    for (auto& [name, sum] : spent_s) {
        if (name == part) {
            sum += seconds;
            return;
        }
    }
    spent_s.emplace_back(part, seconds);
}

void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { signal_came = true; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        sigaction(signal, &action, nullptr);
    }
    // processes whose parent ended become children of this one, so that none is left as a zombie
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // a reader that went away, as in `| head`, is a failed write
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() {
    return signal_came;
}

Ended run(
    const Context& context, const std::vector<std::string>& command, const RunOptions& options
) {
    if (context.verbose) {
        fmt::print(stderr, "  $ {}\n", shell_line(command, options.environment));
    }
    std::fflush(nullptr);
    const auto begin = Clock::now();
    Ended ended;
    const Child child = start(command, options, context);
    int status = 0;
    bool open = !options.attached;
    bool stopped = false;
    while (true) {
        pollfd ready = {child.output, POLLIN, 0};
        poll(&ready, open ? 1U : 0U, kLookEveryMs);
        open = open && drain(child.output, ended.output);
        if (waitpid(child.pid, &status, WNOHANG) == child.pid) {
            break;
        }
        if (options.watch) {
            options.watch(ended.output, seconds_since(begin));
        }
        stopped = interrupted() || (context.cancelled && context.cancelled());
        ended.timed_out = options.time_limit_s > 0 && seconds_since(begin) > options.time_limit_s;
        if (stopped || ended.timed_out || (options.over && options.over())) {
            status = stop(child.pid);
            break;
        }
    }
    drain(child.output, ended.output);
    close(child.output);
    ended.seconds = seconds_since(begin);
    if (stopped || interrupted()) {
        throw Interrupted();
    }
    ended.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended.status == 127 && ended.output.empty()) {
        throw CommandError(
            exit_status::kUsage,
            fmt::format("{} was not found; ./shardlings doctor says what is missing", command[0])
        );
    }
    return ended;
}

}  // namespace dist::cli
