// The fastest layouts of a GPT as stacked bars, drawn by gnuplot.
#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "course/plots/gnuplot.hpp"
#include "course/simulate/gpt_text.hpp"
#include "course/simulate/simulated_text.hpp"

namespace dist::cli {
namespace {

/// A part of a bar: its name, and its column of the data.
using BarParts = std::vector<std::pair<int, std::string>>;

/// Bars of $layouts, whose parts stand one above the other.
std::string panel_of(const std::string& title, const BarParts& parts, std::size_t first_colour) {
    std::string bars;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        bars += fmt::format(
            "{}$layouts using {}{} lc rgb '{}' title {}", i == 0 ? "" : ", \\\n  ", parts[i].first,
            i == 0 ? ":xtic(1)" : "",
            plots::kStyles[(first_colour + i) % plots::kStyles.size()].colour,
            plots::quoted(parts[i].second)
        );
    }
    return fmt::format("set title {}\nplot {}\n", plots::quoted(title), bars);
}

}  // namespace

std::string picture_of(const GptSearch& search, const GptTraining& training) {
    std::string data = "$layouts << EOD\n";
    for (std::size_t i = 0; i < std::min(kShownLayouts, search.found.size()); ++i) {
        const auto& [layout, time, memory, tflops] = search.found[i];
        data += fmt::format(
            "\"{} {} {}\" {} {} {} {} {} {} {} {} {}\n", layout.dp, layout.tp, layout.pp,
            time.computation_s, time.bubble_s, time.tp_s, time.pp_s, time.dp_s, time.optimizer_s,
            memory.parameters_bytes / kGiga, memory.optimizer_bytes / kGiga,
            memory.activations_bytes / kGiga
        );
    }
    data += "EOD\n";
    const GptModel& model = training.model;
    const double memory_gb = training.card.memory_bytes / kGiga;
    const std::string time = panel_of(
        "seconds of a step",
        {{2, "work"},
         {3, "bubble"},
         {4, "messages of tp"},
         {5, "of pp"},
         {6, "of dp"},
         {7, "optimizer"}},
        1
    );
    const std::string memory = panel_of(
        "GB on the rank that holds most",
        {{8, "weights and gradients"}, {9, "optimizer"}, {10, "activations"}}, 6
    );
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 1240,560 noenhanced font 'sans-serif,13' background 'white'\n{}"
        "set multiplot layout 1,2 title {}\n"
        "set style data histograms\nset style histogram rowstacked\n"
        "set style fill solid 0.9 border lc rgb 'white'\nset boxwidth 0.8\n"
        "set grid ytics\nset xtics rotate by -40 scale 0\nset xlabel 'dp tp pp'\n"
        "set yrange [0:*]\nset key top left reverse Left opaque\n"
        "set offsets 0,0,graph 0.35,0\n{}"
        "set yrange [0:{}]\nset arrow from graph 0, first {} to graph 1, first {} nohead dt 2 lc "
        "rgb '#404040'\n"
        "set label {} at graph 0.99, first {} right offset 0,0.6\n{}unset multiplot\n",
        data,
        plots::quoted(fmt::format(
            "GPT of {:.1f} billion parameters, {} sequences a step on {} ranks, by formula",
            model.parameters() / kGiga, training.batch, training.ranks
        )),
        time, 1.5 * memory_gb, memory_gb, memory_gb,
        plots::quoted(fmt::format("{:.4g} GB", memory_gb)), memory_gb, memory
    );
}

}  // namespace dist::cli
