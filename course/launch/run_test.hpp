// A file is built, tried and judged: what run, verify, watch and check have in common.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "course/build/build.hpp"
#include "course/launch/launch.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"
#include "course/result/result.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {

/// Of who waits for the verdict: in one of `jobs`, and not for long where a test has failed.
LaunchOptions options_of_a_student(SharedJobs& jobs);

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

/// The result of a file that uses what answers may not use; none if it is fine, or did not compile.
std::optional<Result> objected(
    Context& context,
    const Program& program,
    const Built& built,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

/// The result of a file to which there are objections: it is not run.
Result refused(Result result, const std::vector<Objection>& objections);

/// The result of a test that was not even built, because of `reason`.
Result skipped(
    const Program& program,
    const std::string& reason,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

/// The result of an untouched stub, known from its text: nothing is built and nothing started.
Result not_started(
    const Context& context, const Exercise& exercise, const LaunchOptions& options = {}
);

/// Builds an exercise's test and starts a job for it, so that the first run in `jobs` need not wait for that. Installs nothing.
/// Errors  as prepare()
void get_ready(Context& context, const Exercise& exercise, SharedJobs& jobs);

/// The student's own file: not_started() or run_anywhere().
Result run_own(Context& context, const Exercise& exercise, const LaunchOptions& options = {});

/// run_test; where there is no GPU, a GPU exercise is tried on the stand-in as well: Result::stand_in.
Result run_anywhere(
    Context& context,
    const Program& program,
    const LaunchOptions& options = {},
    const std::filesystem::path& as = {}
);

/// Runs on the stand-in only. The result is `skipped` if all is right there: that is no pass.
/// Errors  UsageError for an exercise that is not for GPUs
Result run_on_stand_in(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
);

}  // namespace dist::cli
