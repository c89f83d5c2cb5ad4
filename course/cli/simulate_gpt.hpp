// simulate train --model gpt: all ways to share a GPT out over ranks, by formula.
#pragma once

#include <string>

#include "course/cli/command.hpp"
#include "course/cli/simulated_cluster.hpp"

namespace dist::cli {

/// What is empty or 0 among sizes of layouts stands for all of them.
struct GptArguments {
    int layers = 96;
    int width = 12288;
    int heads = 96;
    int context = 2048;
    int vocabulary = 51200;
    std::string mesh;
    int micro_batch = 0;
    int chunks = 0;
    std::string recompute;
    std::string zero;
    int gradient_bytes = 2;
    bool sequence_parallel = false;
    std::string flops = "312T";
    std::string memory = "80GB";
    std::string memory_bandwidth = "2039GB";
    std::string efficiency = "0.69";
    int per_node = 8;
    std::string inside_latency = "2us";
    std::string inside_bandwidth = "300GB";
    bool published = false;
};

/// What simulate train takes for all models.
struct TrainOutputs {
    int batch = 0;
    ClusterArguments cluster;
    std::string csv;
    std::string svg;
};

/// `arguments` live as long as the command.
void add_gpt_options(Command& train, GptArguments& arguments);

/// What simulate train is asked for: a step of a model of pictures, layouts of a GPT, or what failures cost.
enum class TrainQuestion { pictures, gpt, failures };

/// Errors  UsageError for an option that goes with another question only
void expect_options_of(const Command& train, TrainQuestion question);

/// Errors  UsageError; CommandError if no layout fits
void simulate_gpt(
    Context& context,
    const Command& train,
    const GptArguments& arguments,
    const TrainOutputs& shared
);

extern const char* const kGptHelp;

}  // namespace dist::cli
