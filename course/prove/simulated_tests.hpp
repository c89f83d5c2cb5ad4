// An exercise's test on the ranks of SimGrid's MPI, judged as it is on real processes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/result/result.hpp"
#include "course/simulate/ranks/test_order.hpp"

namespace dist::cli {

struct SimulatedTests {
    std::filesystem::path module;  // see tests/harness/simulated/CMakeLists.txt
    std::filesystem::path source;  // the file under test, whose lines a report names
    int ranks = 0;
    simulation::TestOrder order;  // but for its folder
    std::string replay = {};  // the order of messages to take, as simgrid-mc writes it; empty: any
    double time_limit_s = 0;  // 0: none
};

struct SimulatedRun {
    std::vector<TestResult> tests;  // up to the first that hangs or crashes
    std::vector<simulation::Trial> trials;
    std::vector<simulation::Message> messages;
    long last_trial = 0;  // that was begun
};

/// No send ends before its receive has begun: SimGrid's model checker assumes that as well.
inline constexpr const char* kNoBuffers = "smpi/buffering:zero";

/// Writes the order into a file in the folder, and returns the file. (smpirun splits arguments at spaces.)
std::filesystem::path write_order(
    const simulation::TestOrder& order, const std::filesystem::path& folder
);

/// Errors  CommandError if the simulation ends without a record of its tests; Interrupted
SimulatedRun run_simulated_tests(Context& context, const SimulatedTests& wanted);

}  // namespace dist::cli
