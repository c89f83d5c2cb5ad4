#include "course/simulate/gpt_published.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

/// layers, width, heads; of the layout tp, pp, micro-batch and chunks.
constexpr PublishedGpt row(
    double billions,
    const std::array<int, 3>& sizes,
    int ranks,
    int batch,
    const std::array<int, 4>& shared,
    double tflops
) {
    const auto& [layers, width, heads] = sizes;
    const auto& [tp, pp, micro_batch, chunks] = shared;
    return {
        .billions = billions,
        .model = {.layers = layers, .width = width, .heads = heads},
        .ranks = ranks,
        .batch = batch,
        .layout =
            {.dp = ranks / tp / pp,
             .tp = tp,
             .pp = pp,
             .micro_batch = micro_batch,
             .chunks = chunks},
        .tflops = tflops};
}

constexpr std::array kPublished = {
    row(1.7, {24, 2304, 24}, 32, 512, {1, 1, 16, 1}, 137),
    row(3.6, {30, 3072, 32}, 64, 512, {2, 1, 16, 1}, 138),
    row(7.5, {36, 4096, 32}, 128, 512, {4, 1, 16, 1}, 142),
    row(18.4, {40, 6144, 48}, 256, 1024, {8, 1, 8, 1}, 135),
    row(39.1, {48, 8192, 64}, 512, 1536, {8, 2, 4, 1}, 138),
    row(76.1, {60, 10240, 80}, 1024, 1792, {8, 4, 2, 3}, 140),
    row(145.6, {80, 12288, 96}, 1536, 2304, {8, 8, 2, 2}, 148),
    row(310.1, {96, 16384, 128}, 1920, 2160, {8, 16, 1, 2}, 155),
    row(529.6, {105, 20480, 128}, 2520, 2520, {8, 35, 1, 3}, 163),
    row(1008.0, {128, 25600, 160}, 3072, 3072, {8, 64, 1, 1}, 163)};

GptTraining training_of(const PublishedGpt& published, GptTraining training) {
    training.model = published.model;
    training.ranks = published.ranks;
    training.batch = published.batch;
    return training;
}

GptBeside beside(const PublishedGpt& published, const GptTraining& training) {
    const GptSearch search = search_layouts(training, {.recompute = true, .zero = 0});
    const auto at = std::ranges::find_if(search.found, [&](const GptFound& found) {
        return found.layout.tp == published.layout.tp && found.layout.pp == published.layout.pp;
    });
    GptBeside beside;
    beside.published = published;
    beside.ours = found_with(training, published.layout);
    beside.meshes = search.found.size();
    if (at != search.found.end()) {
        beside.place = static_cast<std::size_t>(at - search.found.begin()) + 1;
    }
    if (!search.found.empty()) {
        beside.fastest = search.found.front().layout;
    }
    return beside;
}

}  // namespace

const std::array<PublishedGpt, 10>& published_gpts() {
    return kPublished;
}

double fitted_efficiency(GptTraining training, const GptLayout& layout, double tflops) {
    const auto reached = [&](double efficiency) {
        training.card.efficiency = efficiency;
        return found_with(training, layout).tflops;
    };
    if (reached(1) < tflops) {
        throw UsageError(fmt::format(
            "this card comes to {:.1f} TFLOP/s at most, where {:.1f} were measured", reached(1),
            tflops
        ));
    }
    double low = 0;
    double high = 1;
    constexpr int kHalvings = 50;
    for (int i = 0; i < kHalvings; ++i) {
        (reached(std::midpoint(low, high)) < tflops ? low : high) = std::midpoint(low, high);
    }
    return high;
}

double PublishedComparison::mean_deviation() const {
    double sum = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        sum += std::abs(rows[i].deviation());
    }
    return sum / static_cast<double>(rows.size() - 1);
}

double PublishedComparison::largest_deviation() const {
    double largest = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        largest = std::max(largest, std::abs(rows[i].deviation()));
    }
    return largest;
}

PublishedComparison beside_published(const GptTraining& training) {
    PublishedComparison comparison;
    const PublishedGpt& first = published_gpts().front();
    comparison.efficiency =
        fitted_efficiency(training_of(first, training), first.layout, first.tflops);
    for (const PublishedGpt& published : published_gpts()) {
        GptTraining its = training_of(published, training);
        its.card.efficiency = comparison.efficiency;
        comparison.rows.push_back(beside(published, its));
    }
    return comparison;
}

}  // namespace dist::cli
