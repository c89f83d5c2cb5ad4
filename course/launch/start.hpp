// How the processes of a job are started: what mpirun is told, what they find in their environment and their folder.
#pragma once

#include <filesystem>
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

/// How many processes a job with these options has.
int ranks_of(const Program& program, const LaunchOptions& options);

/// Draws values that the answer cannot predict.
harness::Secret draw_secret(const LaunchOptions& options);

/// Writes the secret to where the processes look for it.
void write_secret(const std::filesystem::path& folder, const harness::Secret& secret);

/// mpirun's line, its environment and its limits. Makes the folder that the processes run in.
///
/// board   of `folder`; it and `context` are asked as long as the processes run
/// after   the tests after the one so named; empty: all
Start start_of(
    const Context& context,
    const Program& program,
    const std::filesystem::path& executable,
    const LaunchOptions& options,
    const RunFolder& folder,
    const harness::Board& board,
    const std::string& after
);

}  // namespace dist::cli
