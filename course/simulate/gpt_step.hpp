// A training step of a GPT that is shared out in three dimensions, by formula: how long it takes, and what a rank holds.
//
// dp ranks take sequences of their own, tp ranks share each layer, pp ranks are stages, one behind the other. Ranks stand
// on nodes in the order tp, dp, pp: the ranks that share a layer are neighbours.
#pragma once

#include "course/simulate/cluster.hpp"

namespace dist::cli {

// powers of 1000, as data sheets count
inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;

struct GptModel {
    int layers = 96;
    int width = 12288;
    int heads = 96;
    int context = 2048;
    int vocabulary = 51200;

    [[nodiscard]] double parameters() const;
};

/// What computes for a rank. By default an A100 of 80 GB: NVIDIA's data sheet.
struct Card {
    double flops_per_s = 312e12;  // of products in 16 bits
    double bytes_per_s = 2039e9;  // of its memory
    double memory_bytes = 80e9;
    double efficiency = 0.69;  // what programs reach of both rates: fitted, gpt_published.hpp
};

struct GptTraining {
    GptModel model;
    int batch = 1536;  // sequences of a step, of all ranks
    int ranks = 1024;
    int gradient_bytes = 2;          // of a parameter's: 2 or 4
    bool sequence_parallel = false;  // what lies between the cut layers is cut as well
    Card card;
    /// Nodes of 8 A100, with NVLink inside and a network card for each.
    Cluster cluster = {
        .latency_s = 5e-6,
        .bytes_per_s = 25e9,
        .platform = {},
        .per_node = 8,
        .inside_latency_s = 2e-6,
        .inside_bytes_per_s = 300e9};
};

/// How the ranks share a step.
struct GptLayout {
    int dp = 1;
    int tp = 1;
    int pp = 1;
    int micro_batch = 1;    // sequences
    int chunks = 1;         // of a stage; more than 1: the interleaved schedule
    bool recompute = true;  // keep each layer's input alone, and compute the rest again in backward
    int zero = 0;           // 1: a dp-th of the optimizer's state

    [[nodiscard]] int micro_batches(int batch) const { return batch / (dp * micro_batch); }
};

/// Seconds of a step; of messages what is not hidden behind work.
struct GptTime {
    double computation_s = 0;  // all ranks' forward and backward, divided among them
    double bubble_s = 0;  // a stage waits: at both ends, and for the last one, which has most to do
    double tp_s = 0;
    double pp_s = 0;
    double dp_s = 0;
    double optimizer_s = 0;

    [[nodiscard]] double step_s() const {
        return computation_s + bubble_s + tp_s + pp_s + dp_s + optimizer_s;
    }
};

/// Bytes of the rank that holds most.
struct GptMemory {
    double parameters_bytes = 0;  // weights in 16 bits, and their gradients
    double optimizer_bytes =
        0;  // in float32: weights, Adam's two moments, and gradients of 16 bits
    double activations_bytes = 0;

    [[nodiscard]] double bytes() const {
        return parameters_bytes + optimizer_bytes + activations_bytes;
    }
};

/// Operations of a step over all ranks: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)), or 72 B s l h^2 (1 + s/(6h) + V/(12 l h))
/// where nothing is computed again.
double flops_of(const GptTraining& training, bool recompute);

/// Source  Narayanan et al. (2021), arXiv 2104.04473; a rank's own work by its roofline, gpt_step.cpp.
GptTime time_of(const GptTraining& training, const GptLayout& layout);

/// Source  Korthikanti et al. (2022), arXiv 2205.05198, for activations; for the rest Megatron-LM's documentation,
///         "Distributed optimizer": 20 bytes of a parameter, and 18 where its gradient has 4.
GptMemory memory_of(const GptTraining& training, const GptLayout& layout);

/// Of an all-reduce of so many bytes over p ranks, `on_node` of them on each node: a ring inside, and one across with a
/// chunk for each (exercise hierarchical_all_reduce).
double all_reduce_s(double bytes, int p, int on_node, const Cluster& cluster);

}  // namespace dist::cli
