// Exercises for GPUs: what this machine can do with them. The same test is linked twice, with CUDA and
// NCCL, and with the host's stand-in for both (tests/harness/gpu), which tries the logic anywhere,
// and proves nothing about a GPU: it is shown, and never is a pass.
#pragma once

#include <filesystem>
#include <string>

#include "course/cli/command.hpp"
#include "course/cli/launch.hpp"
#include "course/cli/manifest.hpp"
#include "course/cli/result.hpp"

namespace dist::cli {

/// Why GPU exercises are not built here, as a sentence; empty: they are. Configures first when need be.
std::string gpu_code_missing(Context& context);

/// The test of `program` with the stand-in in the place of CUDA and NCCL.
Program on_stand_in(Program program);

/// The result of a test that was not even built, because of `reason`.
Result skipped(
    const Program& program,
    const std::string& reason,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

/// run_test; where there is no GPU, a GPU exercise is tried on the stand-in as well: Result::stand_in.
Result run_anywhere(
    Context& context,
    const Program& program,
    const LaunchOptions& options = {},
    const std::filesystem::path& as = {}
);

/// The stand-in alone, and skipped where all is right on it.
/// Errors  UsageError for an exercise that is not for GPUs
Result run_on_stand_in(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

}  // namespace dist::cli
