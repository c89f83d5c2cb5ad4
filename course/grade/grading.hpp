// A grading: all submissions, all exercises, and the folder of grades.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "course/process/context.hpp"

namespace dist::cli {

struct GradingOptions {
    std::string submissions;
    std::string out;
    std::vector<std::string> exercises;
    std::string points;
    std::string due;
    int jobs = 1;
    int seeds = 1;
    std::uint64_t seed = 0;  // the first of them, when it is given
    int time_limit_s = 120;
    bool resume = false;
    bool only_failed = false;
    bool no_sandbox = false;
};

/// Grades, tells how far it is, and prints a line for each submission. Returns the command's exit status: done,
/// whatever students have scored; kOurs where some could not be graded through no fault of theirs.
/// Errors  UsageError for what was asked; Interrupted, after what is known was written
int grade_all(Context& context, const GradingOptions& options);

}  // namespace dist::cli
