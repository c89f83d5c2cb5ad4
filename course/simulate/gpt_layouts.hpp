// All layouts of a GPT on so many ranks, and the fastest of those that fit.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "course/simulate/gpt_step.hpp"

namespace dist::cli {

/// Which layouts are looked at; 0, or nothing: all.
struct GptChoice {
    int dp = 0;
    int tp = 0;
    int pp = 0;
    int micro_batch = 0;
    int chunks = 0;
    std::optional<bool> recompute = {};
    std::optional<int> zero = {};

    [[nodiscard]] bool one_mesh() const { return dp > 0 && tp > 0 && pp > 0; }
};

struct GptFound {
    GptLayout layout;
    GptTime time;
    GptMemory memory;
    double tflops = 0;  // 10^12 operations a second and rank
};

struct GptSearch {
    std::vector<GptFound>
        found;  // the fastest first; of each mesh the fastest alone, but where one is asked for
    std::size_t layouts = 0;
    std::size_t fit = 0;     // of them
    double least_bytes = 0;  // that one of them holds
};

/// Each of dp tp pp = ranks with
///
///     tp      that divides the heads, and divides the ranks of a node or is a multiple of them
///     pp      that divides the layers
///     dp      that divides the batch
///     micro-batches that divide a dp rank's sequences
///     chunks  1, or what divides a stage's layers, where micro-batches are a multiple of pp > 1
///     with and without recomputation, with zero 0 and, for dp > 1, 1
std::vector<GptLayout> layouts_of(const GptTraining& training, const GptChoice& choice);

/// Operations that a layout has to do, over its time.
GptFound found_with(const GptTraining& training, const GptLayout& layout);

GptSearch search_layouts(const GptTraining& training, const GptChoice& choice);

}  // namespace dist::cli
