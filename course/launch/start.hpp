// How the processes of a job are started: what mpirun is told, what they find in their environment and their folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/launch/launch.hpp"
#include "course/launch/run_folder.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/protocol.hpp"

namespace dist::cli {

/// What is started, and how.
struct Start {
    std::vector<std::string> command;
    RunOptions options;
};

/// Whether the tests after the first that failed have had their time.
class RestOver {
  public:
    /// failed  a test has failed already, in a job before
    RestOver(const harness::Board& board, double limit_s, bool failed);
    bool operator()();
    [[nodiscard]] bool is_over() const { return is_over_; }

  private:
    const harness::Board& board_;
    double limit_s_;
    std::optional<std::chrono::steady_clock::time_point> since_;
    bool is_over_ = false;
};

/// How many processes a job with these options has.
int ranks_of(const Program& program, const LaunchOptions& options);

/// Draws values that the answer cannot predict.
harness::Secret draw_secret(const LaunchOptions& options);

/// Writes the secret to where the processes look for it.
void write_secret(const std::filesystem::path& folder, const harness::Secret& secret);

/// What the processes find in their environment for one answer: which of its tests they run, and how.
///
/// after   the tests after the one so named; empty: all
Environment answer_environment(const LaunchOptions& options, const std::string& after);

/// Tells the context which test runs. Rank 0 is in every test; between two of them nothing new is told.
void tell(const Context& context, const harness::Board& board);

/// mpirun's line, its environment and its limits. Makes the folder that the processes run in.
///
/// board   of `folder`; it and `context` are asked as long as the processes run
/// more    of the environment
Start start_of(
    const Context& context,
    const Program& program,
    const std::filesystem::path& executable,
    const LaunchOptions& options,
    const RunFolder& folder,
    const harness::Board& board,
    const Environment& more
);

}  // namespace dist::cli
