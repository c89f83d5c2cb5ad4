// Build, launch, verdict: what run, verify, watch and check have in common.
#pragma once

#include <filesystem>

#include "course/cli/build.hpp"
#include "course/cli/command.hpp"
#include "course/cli/launch.hpp"
#include "course/cli/manifest.hpp"
#include "course/cli/result.hpp"

namespace dist::cli {

/// Builds `program`, with `as` in the place of its source unless empty, and runs its test. A build
/// error is a result too.
/// Errors  as build_test and launch
Result run_test(
    Context& context,
    const Program& program,
    const LaunchOptions& options = {},
    const std::filesystem::path& as = {}
);

/// The second half of run_test: for a test that has been built already.
Result run_built(
    Context& context,
    const Program& program,
    const Built& built,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

/// run_test on the student's own file; marks progress, prints the report, returns the exit status.
int run_and_report(Context& context, const Exercise& exercise);

}  // namespace dist::cli
