// What became of ranks that could not write down their own end: read from the board.
#pragma once

#include <string>
#include <utility>

#include "course/judge/verdict.hpp"

namespace dist::cli {

/// How a rank without a record ended: the test's state, and a sentence. not_run when it did not end
/// by itself: another rank's fault.
std::pair<State, std::string> explain_end(
    int rank, const harness::Slot& slot, const std::string& output
);

/// Why records are missing although no rank died by itself.
std::pair<State, std::string> explain_stop(const Job& job);

/// A rank whose record of a test is missing, as the board shows it.
RankResult rank_from_board(int rank, const Job& job);

/// No process said what it was about to run: the program never came to its tests.
TestResult explain_no_plan(const Job& job);

/// The run's folder, and all records in it, went while it ran.
TestResult explain_no_folder(const Job& job);

/// Processes outlived a program whose tests have passed.
TestResult explain_left(const Job& job);

}  // namespace dist::cli
