// Runs a program and leaves nothing behind.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "course/process/context.hpp"

namespace dist::cli {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct RunOptions {
    Environment environment = {};       // added to this process's own
    std::filesystem::path folder = {};  // to run in; empty: the repository
    bool attached = false;              // writes to the terminal itself; nothing is captured
    double time_limit_s = 0;            // 0: none
    /// Called often with what was said so far and the seconds gone.
    std::function<void(const std::string& output, double seconds)> watch = nullptr;
    /// Asked often: true when nothing more can come of it. It is ended then, whatever it waits for.
    std::function<bool()> over = nullptr;
    /// Which processes are the caller's own: they may outlive the command, and are not counted among those left.
    std::function<bool(pid_t)> is_known = nullptr;
    bool at_once = false;  // when it is over, or on Ctrl-C, it is ended without being asked
};

struct Ended {
    int status = 0;  // as a shell gives it: the exit status, or 128 + signal
    bool timed_out = false;
    bool called_off = false;  // by RunOptions::over
    bool killed = false;      // by a signal, and not from here
    int left_processes = 0;   // that outlived it, and were not known; they were ended
    std::string output;       // standard output and standard error, in the order written
    bool cut = false;         // it wrote more than the 8 MB that are kept
    double seconds = 0;
    [[nodiscard]] bool ok() const { return status == 0 && !timed_out; }
};

/// Runs `command` under a keeper: when it has ended, so has everything that it started, and with this
/// process it ends too. With --verbose the line is printed first.
/// Errors  Interrupted on Ctrl-C or when context.cancelled() says so, after all of it was stopped;
///         CommandError when the program is not there.
Ended run(
    const Context& context, const std::vector<std::string>& command, const RunOptions& options = {}
);

/// From here on Ctrl-C and SIGTERM only set a flag, which run() looks at.
void catch_signals();
/// Whether one came.
bool interrupted();

/// Errors  Interrupted, on Ctrl-C
void go_on_unless_interrupted();

/// The line as a shell would take it.
std::string shell_line(
    const std::vector<std::string>& command, const Environment& environment = {}
);

}  // namespace dist::cli
