// Starts the processes of a test and brings back what they left, however they ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"
#include "course/process/sandbox.hpp"
#include "course/protocol/secret.hpp"
#include "course/result/result.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {

class SharedJobs;

/// Seconds that a student waits for the tests after the first that failed.
inline constexpr double kRestS = 10;

struct LaunchOptions {
    int ranks = 0;  // 0: as many as the test uses; otherwise only worlds of this size
    std::uint64_t seed = 1;
    std::string test = {};  // only tests whose name holds this
    bool many = false;      // only tests with the tag [many], on kManyRanks ranks
    bool delays = false;    // seeded delays in MPI calls
    bool trace = false;     // what ranks do with messages, also in tests that pass
    harness::Garble garble = harness::Garble::none;
    double compute_s = 0;  // CPU seconds without progress that a rank may take; 0: the usual limit
    bool keep = false;     // leave the run folder
    double wall_limit_s = 300;
    /// Seconds for all tests after the first that failed; what has not ended by then is not_run. 0: no limit.
    double rest_limit_s = 0;
    Strictness strictness = Strictness::learner;
    const Sandbox* sandbox = nullptr;  // where the processes run; none: nowhere in particular
    SharedJobs* jobs = nullptr;  // where a library is tried; none: programs have jobs of their own
    /// Asked after the first test that fails, with the result so far: true leaves the others out.
    std::function<bool(const Result&)> enough = nullptr;
};

/// What a result holds before anything was tried.
Result result_of(
    const Program& program, const LaunchOptions& options, const std::filesystem::path& as
);

/// Adds to a result what follows from its tests: lines of the source, the commands that repeat them, the state.
///
/// executable  in which the addresses of stacks are: the program, or the library that was tried
void complete(
    const Context& context,
    const std::filesystem::path& executable,
    const std::filesystem::path& as,
    const LaunchOptions& options,
    Result& result
);

/// Runs `executable`, a program or, where there are shared jobs, a library, built with `as` in the place of its source unless empty, until every planned
/// test has a state: again, for the rest, when a rank died; and, once all have passed, on many ranks for
/// the tests that need them.
/// Errors  UsageError for a rank count or a test name that makes no sense; Interrupted.
Result launch(
    Context& context,
    const Program& program,
    const std::filesystem::path& executable,
    const std::filesystem::path& as,
    const LaunchOptions& options
);

/// Refuses 0 ranks, more than 64, and more than 8 for each core.
void expect_rank_count(int ranks);

}  // namespace dist::cli
