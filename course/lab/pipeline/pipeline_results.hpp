// What bench pipeline is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <string>
#include <vector>

#include "course/lab/step_options.hpp"

namespace dist::lab {

struct PipelineOptions : StepOptions {  // its ways are schedules
    std::vector<int> micro_batches = {4, 8, 16};
    std::vector<double> stage_ms = {5, 5, 5};  // F, I and W of a rank
    std::string csv;                           // file, or "-" for standard output; empty: none
};

/// What was measured of one schedule with m micro-batches, beside what the formula says. A bubble is the share of a
/// step in which a rank does not compute, the mean over ranks.
struct PipelineResult {
    std::string schedule;
    int micro_batches = 0;
    double formula_s = 0;
    double formula_bubble = 0;
    std::vector<double> steps_s = {};  // the slowest rank's, by round
    std::vector<double> bubbles = {};  // by round
};

/// schedules  that there are; measured where none are named.
/// help       gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
PipelineOptions parse_pipeline_options(
    int argc, char** argv, const std::vector<std::string>& schedules, std::string& help
);

/// The table, a line for each result.
std::string to_csv(const std::vector<PipelineResult>& results);

/// A table, or with --json a document, or with --csv - that.
///
/// disturbed  rounds in which others took more of the cores than a quiet block allows.
std::string to_text(
    const PipelineOptions& options,
    const std::vector<PipelineResult>& results,
    int ranks,
    long disturbed
);

}  // namespace dist::lab
