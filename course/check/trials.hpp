// How the trials of a series are run: each in a job of its own, or several wrong answers in one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "course/check/series.hpp"
#include "course/check/verdicts.hpp"
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
    std::string error;  // why there is none: no difference that applies, no test of that name
};

/// Asked for a number of ranks for which some of its tests are, and those pass.
bool right_in_part(const Result& result);

/// What is wrong with a trial's result; empty when it is as expected.
///
/// text  the report on it
std::string wrong_with(const Trial& trial, const Result& result, const std::string& text);

/// All that the verdict on a trial depends on, without the files that its source includes: the compiler lists those.
///
/// Errors  UsageError for a difference that no longer applies
Basis basis_of(
    const Context& context, const Recipe& recipe, const Trial& trial, const HowToRun& how
);

/// The trials of each job, by their places in the series, without those that are unchanged. Wrong answers share jobs.
std::vector<std::vector<std::size_t>> jobs_of(const Series& series, const BuiltSeries& built);

/// Runs the trials of one job. A trial that does not show its expected state there runs again, alone: no trial fails because
/// of what it shared.
void run_trials(
    Context& context,
    const Series& series,
    const BuiltSeries& built,
    const std::vector<std::size_t>& trials,
    const HowToRun& how,
    std::vector<Tried>& tried
);

}  // namespace dist::cli
