// How the trials of a series are run: each in a job of its own, or several wrong answers in one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "course/check/series.hpp"
#include "course/check/verdicts.hpp"
#include "course/launch/shared_job.hpp"
#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

struct HowToRun {
    std::uint64_t first_seed = 1;
    int ranks = 0;  // 0: as many as each test uses
    bool delays = false;
    bool all_tests = false;  // of wrong answers, too
};

struct Tried {
    std::vector<Result> results;  // one for each seed
    std::string error;            // why there is none: no change that applies, no test of that name
};

/// Asked for a number of ranks for which some of its tests are, and those pass.
bool right_in_part(const Result& result);

/// What is wrong with a trial's result; empty when it is as expected.
///
/// text  the report on it
std::string wrong_with(const Trial& trial, const Result& result, const std::string& text);

/// All that the verdict on a trial depends on, without the files that its source includes: the compiler lists those.
///
/// Errors  UsageError for a change that no longer applies
Basis basis_of(
    const Context& context, const Recipe& recipe, const Trial& trial, const HowToRun& how
);

/// Runs one: in a job of `jobs` where it was built for that, and again, alone, where it does not show its expected state there: no
/// trial fails because of what it shared.
Tried run_trial(
    Context& context,
    const Series& series,
    const BuiltSeries& built,
    std::size_t trial,
    const HowToRun& how,
    SharedJobs& jobs
);

}  // namespace dist::cli
