#include "course/process/subprocess.hpp"

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
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course/process/error.hpp"
#include "course/process/keeper.hpp"
#include "course/process/seconds_since.hpp"

namespace dist::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 8U << 20U;  // bytes kept; a program may write without end
constexpr int kPollEveryMs = 25;
constexpr int kStopLookEveryMs = 5;
constexpr double kAnswerS = 10;  // a keeper takes to end what it keeps

std::atomic<bool> signal_came = false;

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

/// A pipe that no program inherits unasked.
struct Pipe {
    std::array<int, 2> end = {-1, -1};
    Pipe() {
        if (pipe2(end.data(), O_CLOEXEC) != 0) {
            throw CommandError(exit_status::kOurs, fmt::format("pipe: {}", std::strerror(errno)));
        }
        fcntl(end[0], F_SETFL, O_NONBLOCK);
    }
    ~Pipe() {
        close(end[0]);
        close_writer();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_writer() {
        if (end[1] >= 0) {
            close(end[1]);
            end[1] = -1;
        }
    }
};

/// Everything is made before the fork: between fork and exec only system calls are safe.
pid_t start(
    const std::vector<std::string>& command,
    const RunOptions& options,
    const Context& context,
    int output,
    int report
) {
    std::vector<std::string> words = command;
    std::vector<std::string> environment = merged(options.environment);
    const std::vector<char*> argv = pointers(words);
    const std::vector<char*> envp = pointers(environment);
    const std::string folder = options.folder.empty() ? context.root : options.folder;
    const auto become = [&] {
        const int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, STDIN_FILENO);
        if (!options.attached) {
            dup2(output, STDOUT_FILENO);
            dup2(output, STDERR_FILENO);
        }
        if (chdir(folder.c_str()) == 0) {
            execvpe(argv[0], argv.data(), envp.data());
        }
    };
    const pid_t keeper = fork_keeper(become, report, options.is_known);
    if (keeper < 0) {
        throw CommandError(exit_status::kOurs, fmt::format("fork: {}", std::strerror(errno)));
    }
    return keeper;
}

/// Reads what is there; false at the end of the output.
bool drain(int from, Ended& into) {
    std::array<char, 16384> block{};
    while (true) {
        const ssize_t count = read(from, block.data(), block.size());
        if (count > 0) {
            const std::size_t room = kMostOutput - into.output.size();
            const auto bytes = static_cast<std::size_t>(count);
            into.output.append(block.data(), std::min(room, bytes));
            into.cut = into.cut || bytes > room;
        } else {
            return count < 0 && (errno == EAGAIN || errno == EINTR);
        }
    }
}

/// Waits until the keeper has stopped the program; one that does not answer is ended.
int stop(pid_t keeper, int signal) {
    int status = 0;
    kill(keeper, signal);
    const auto asked = Clock::now();
    while (waitpid(keeper, &status, WNOHANG) == 0) {
        if (seconds_since(asked) > kAnswerS) {
            kill(keeper, SIGKILL);
        }
        poll(nullptr, 0, kStopLookEveryMs);
    }
    return status;
}

/// What the keeper said; nothing when it was killed before it could.
std::optional<Kept> read_report(int from) {
    Kept kept;
    return read(from, &kept, sizeof kept) == sizeof kept ? std::optional(kept) : std::nullopt;
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
    // a reader that went away, as in `| head`, is a failed write
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() {
    return signal_came;
}

void go_on_unless_interrupted() {
    if (interrupted()) {
        throw Interrupted();
    }
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
    Pipe output;
    Pipe report;
    const pid_t keeper = start(command, options, context, output.end[1], report.end[1]);
    output.close_writer();
    report.close_writer();
    int status = 0;
    bool open = !options.attached;
    bool stopped = false;
    while (waitpid(keeper, &status, WNOHANG) == 0) {
        // the keeper's report comes when all has ended: nobody waits longer than that
        std::array<pollfd, 2> ready = {{{report.end[0], POLLIN, 0}, {output.end[0], POLLIN, 0}}};
        poll(ready.data(), open ? 2U : 1U, kPollEveryMs);
        if (ready[0].revents != 0) {
            waitpid(keeper, &status, 0);
            break;
        }
        open = open && drain(output.end[0], ended);
        if (options.watch) {
            options.watch(ended.output, seconds_since(begin));
        }
        stopped = interrupted() || (context.cancelled && context.cancelled());
        ended.timed_out = options.time_limit_s > 0 && seconds_since(begin) > options.time_limit_s;
        ended.called_off = !stopped && !ended.timed_out && options.over && options.over();
        if (stopped || ended.timed_out || ended.called_off) {
            status = stop(keeper, !ended.timed_out && options.at_once ? SIGUSR1 : SIGTERM);
            break;
        }
    }
    keeper_ended(keeper, WIFSIGNALED(status));
    drain(output.end[0], ended);
    ended.seconds = seconds_since(begin);
    if (stopped || interrupted()) {
        throw Interrupted();
    }
    const Kept kept = read_report(report.end[0]).value_or(Kept{SIGKILL, 0});
    if (kept.status < 0) {
        throw CommandError(
            exit_status::kOurs, command[0] + " cannot be started: too many processes"
        );
    }
    ended.killed = WIFSIGNALED(kept.status) && !ended.timed_out && !ended.called_off;
    ended.status =
        WIFSIGNALED(kept.status) ? 128 + WTERMSIG(kept.status) : WEXITSTATUS(kept.status);
    ended.left_processes = kept.left;
    if (ended.status == 127 && ended.output.empty()) {
        throw CommandError(
            exit_status::kUsage,
            fmt::format("{} was not found; ./shardlings doctor says what is missing", command[0])
        );
    }
    return ended;
}

}  // namespace dist::cli
