// Ten GPTs that others have trained, and what this model says of them.
//
// Narayanan et al. (2021), arXiv 2104.04473, table 1: on nodes of 8 A100 of 80 GB, with recomputation, without ZeRO. Sizes
// of micro-batches and chunks are not in the table, but in the authors' script, Megatron-LM's examples/sc21/run_table_1.sh,
// where one stage has PyTorch's DDP, and more than one a sum of gradients behind backward.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "course/simulate/gpt_layouts.hpp"

namespace dist::cli {

struct PublishedGpt {
    double billions = 0;  // parameters, as the table has them
    GptModel model;
    int ranks = 0;
    int batch = 0;
    GptLayout layout;
    double tflops = 0;
};

const std::array<PublishedGpt, 10>& published_gpts();

/// What a rank's card has to reach of its rates so that this layout comes to so many TFLOP/s.
///
/// Errors  UsageError if no efficiency up to 1 is enough.
double fitted_efficiency(GptTraining training, const GptLayout& layout, double tflops);

/// A row, and ours.
struct GptBeside {
    PublishedGpt published;
    GptFound ours;
    std::size_t place =
        0;  // of the table's mesh among all, each with its best micro-batch and chunks
    std::size_t meshes = 0;  // that fit
    GptLayout fastest;

    [[nodiscard]] double deviation() const { return ours.tflops / published.tflops - 1; }
};

struct PublishedComparison {
    double efficiency = 0;  // fitted on the first row, which sends least
    std::vector<GptBeside> rows;

    /// Of the rows that nothing was fitted on, without signs.
    [[nodiscard]] double mean_deviation() const;
    [[nodiscard]] double largest_deviation() const;
};

/// training  card, cluster and bytes of gradients; model, batch and ranks are the rows'.
PublishedComparison beside_published(const GptTraining& training);

}  // namespace dist::cli
