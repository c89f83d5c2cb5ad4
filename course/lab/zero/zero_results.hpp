// What bench zero is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "course/lab/blocks.hpp"
#include "course/lab/step_options.hpp"
#include "course/nn/memory.hpp"

namespace dist::lab {

struct ZeroOptions : StepOptions {
    std::string optimizer = "sgd";  // or "adamw"
    int shard_ranks = 0;            // of zero3, which cut one copy of the model; 0: all
    std::string svg;                // file; empty: none
};

/// What is held at a moment of a step.
struct MemorySample {
    double seconds = 0;  // since the step began
    nn::MemoryBytes held;
};

/// What was measured of one way. Bytes are those of the rank that has most; beyond what there was before the way.
struct ZeroResult {
    std::string name;
    nn::MemoryBytes held = {};  // between two steps
    nn::MemoryBytes peak = {};  // in a step, when the total is highest
    std::size_t formula = 0;    // of memory_model: parameters, gradients and the optimizer's state
    std::size_t sent = 0;       // in a step

    // of one step, on rank 0
    std::vector<MemorySample> timeline = {};
    double forward_end_s = 0;
    double backward_end_s = 0;
    double end_s = 0;
};

/// ways    that there are; measured where none are named.
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
ZeroOptions parse_zero_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
);

/// A table, or with --json a document.
///
/// blocks  of one round each: the ways in the order of the results.
std::string to_text(
    const ZeroOptions& options,
    const std::vector<ZeroResult>& results,
    const std::vector<Block>& blocks,
    int ranks,
    const std::string& libtorch
);

/// What is held over a step, a panel for each way, one below the other: gnuplot's script.
std::string gnuplot_script(
    const ZeroOptions& options, const std::vector<ZeroResult>& results, int ranks
);

}  // namespace dist::lab
