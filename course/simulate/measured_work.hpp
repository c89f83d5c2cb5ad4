// What a step takes on one rank, out of the log of a run: train --log FILE.
#pragma once

#include <cstddef>
#include <filesystem>

#include "course/simulate/training_step.hpp"

namespace dist::cli {

struct MeasuredWork {
    Work work;              // medians over the steps behind the first two, in which memory is new
    std::size_t batch = 0;  // pictures a step
    std::size_t steps = 0;  // that count
};

/// Reads the log of a run of one process.
///
/// Errors  UsageError: no such file, no log, no step behind the first two, or steps that waited for other ranks.
MeasuredWork read_measured_work(const std::filesystem::path& log);

}  // namespace dist::cli
