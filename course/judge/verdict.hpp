// From what the processes of a job left to the state of each test.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/judge/records.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// What one mpirun left behind.
struct Job {
    std::filesystem::path folder;
    std::vector<RankLog> logs;                     // one for each rank
    std::optional<std::vector<std::string>> plan;  // what was to run; none: whatever they say
    const harness::Board* board = nullptr;
    int status = 0;      // of mpirun
    std::string output;  // of mpirun itself
    bool timed_out = false;
    bool killed = false;      // mpirun, by a signal, and not by the command
    bool called_off = false;  // nothing more could come of it, and mpirun did not notice
    int left_processes = 0;   // that outlived mpirun; they were ended
    bool rest_over = false;   // a test has failed, and those after it have had their time
    double wall_limit_s = 0;
};

struct Verdict {
    std::vector<TestResult> tests;  // those that have a state now, in order
    std::string rest_after;         // a rank died in this test, and others are planned after it
    int many = 0;                   // tests are left for a job of kManyRanks ranks
    bool planned = false;           // at least one rank said what it was about to run
};

/// Judges every test of the plan that can be judged. A pass is a complete record: "pass" from every
/// rank, and every rank finished, or stopped only because another died later.
Verdict judge(const Job& job);

/// The state of a whole run: pass when all tests passed, otherwise that of the first that did not.
State overall(const std::vector<TestResult>& tests);

}  // namespace dist::cli
