// One mpirun: its folder, its environment, its end.
#pragma once

#include <filesystem>
#include <string>

#include "course/cli/judge/verdict.hpp"
#include "course/cli/launch/launch.hpp"

namespace dist::cli {

/// Starts the processes once, for the tests after `after` (empty: all), and judges what they left.
/// When it returns or throws, no process and no folder is left.
Verdict run_job(
    Context& context,
    const Program& program,
    const std::filesystem::path& executable,
    const LaunchOptions& options,
    const std::string& after
);

}  // namespace dist::cli
