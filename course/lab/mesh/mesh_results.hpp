// What bench mesh is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "course/lab/blocks.hpp"
#include "course/lab/step_options.hpp"
#include "course/nn/gpt_shape.hpp"

namespace dist::lab {

struct MeshOptions : StepOptions {  // its ways are meshes: "dp=2,tp=2"
    nn::GptShape gpt = {.layers = 4, .width = 64, .heads = 4, .context = 64};
    int windows = 16;       // of a step, shared out over dp
    int micro_batches = 0;  // 0: pp
    std::string pipeline = "1f1b";
    int zero = 0;
    bool sequence_parallel = false;
    std::string optimizer = "sgd";
    std::string csv;  // file, or "-" for standard output; empty: none
};

/// Bytes that a rank sends in a step, by the dimension of the mesh; and that it holds, by kind: activations at most, all
/// others between two steps.
inline constexpr std::array kCounted = {"dp",         "pp",        "cp",        "tp",
                                        "parameters", "gradients", "optimizer", "activations"};
using MeshBytes = std::array<std::size_t, kCounted.size()>;

/// A mesh, and what was measured on it beside what formulas say.
struct MeshResult {
    std::string name;  // "dp=2,tp=2"
    int micro_batches = 1;
    double bubble = 0;                     // of the schedule
    std::vector<MeshBytes> measured = {};  // of each rank
    std::vector<MeshBytes> formula = {};   // as well
    std::vector<double> waiting = {};      // share of a step, mean over ranks; by round
};

struct MeshReport {
    int ranks = 1;
    std::vector<MeshResult> results;
    std::vector<Block> blocks;          // of one round each: meshes in the order of the results
    std::vector<std::string> left_out;  // "tp=4: --mesh tp=4 does not divide --heads 2"
};

/// schedules  that there are.
/// help       gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
MeshOptions parse_mesh_bench(
    int argc, char** argv, const std::vector<std::string>& schedules, std::string& help
);

/// A line for each mesh: of each count that of the rank that has most.
std::string to_csv(const MeshReport& report);

/// Tables, or with --json a document, or with --csv - that.
std::string to_text(const MeshOptions& options, const MeshReport& report);

}  // namespace dist::lab
