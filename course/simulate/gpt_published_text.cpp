// The published rows beside ours: for people a table, for programs JSON and CSV.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "course/simulate/gpt_text.hpp"
#include "course/simulate/simulated_text.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kBest = 3;

bool among_the_best(const GptBeside& row) {
    return row.place > 0 && row.place <= kBest;
}

std::string line_of(const GptBeside& row, bool fitted) {
    const GptLayout& theirs = row.published.layout;
    return fmt::format(
        "{:>6.1f} {:>5} {:>4} {:>3} {:>3} {:>5} {:>6} {:>9.0f} {:>7.1f} {:>9} {:>9}   {}\n",
        row.published.billions, row.published.ranks, theirs.dp, theirs.tp, theirs.pp,
        theirs.micro_batch, theirs.chunks, row.published.tflops, row.ours.tflops,
        fitted ? "fitted" : fmt::format("{:+.1f} %", 100 * row.deviation()),
        row.place == 0 ? "no room" : fmt::format("{} of {}", row.place, row.meshes),
        row.meshes == 0
            ? "-"
            : fmt::format("dp={},tp={},pp={}", row.fastest.dp, row.fastest.tp, row.fastest.pp)
    );
}

}  // namespace

std::string table_of(const PublishedComparison& comparison, const GptTraining& training) {
    std::string text = fmt::format(
        "# GPT beside Narayanan et al. 2021, table 1: TFLOP/s of a rank, with recomputation\n"
        "# each rank with {}; {:.1f} % of both rates are reached: fitted on the first row\n# {}\n"
        "{:>6} {:>5} {:>4} {:>3} {:>3} {:>5} {:>6} {:>9} {:>7} {:>9} {:>9}   {}\n",
        words_of(training.card), 100 * comparison.efficiency, place_of(training.cluster), "# 10^9",
        "ranks", "dp", "tp", "pp", "micro", "chunks", "published", "formula", "deviation", "place",
        "fastest mesh"
    );
    for (const GptBeside& row : comparison.rows) {
        text += line_of(row, &row == &comparison.rows.front());
    }
    return text + fmt::format(
                      "# the nine that nothing was fitted on deviate by {:.1f} % in the mean, by "
                      "{:.1f} % at most\n"
                      "# place: of that mesh among all that fit, each with its best micro-batch "
                      "and chunks; {} of {} are among the best {}\n",
                      100 * comparison.mean_deviation(), 100 * comparison.largest_deviation(),
                      std::ranges::count_if(comparison.rows, among_the_best),
                      comparison.rows.size(), kBest
                  );
}

std::string csv_of(const PublishedComparison& comparison) {
    std::string text =
        "billions,ranks,dp,tp,pp,micro_batch,chunks,published_tflops,tflops,deviation,place,meshes,"
        "fastest_dp,fastest_tp,fastest_pp\n";
    for (const GptBeside& row : comparison.rows) {
        const GptLayout& theirs = row.published.layout;
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.published.billions,
            row.published.ranks, theirs.dp, theirs.tp, theirs.pp, theirs.micro_batch, theirs.chunks,
            row.published.tflops, row.ours.tflops, row.deviation(), row.place, row.meshes,
            row.fastest.dp, row.fastest.tp, row.fastest.pp
        );
    }
    return text;
}

std::string json_of(const PublishedComparison& comparison, const GptTraining& training) {
    nlohmann::json document = document_of(training);
    document["model"] = "gpt";
    document["efficiency"] = comparison.efficiency;
    document["mean_deviation"] = comparison.mean_deviation();
    document["largest_deviation"] = comparison.largest_deviation();
    for (const GptBeside& row : comparison.rows) {
        document["rows"].push_back({
            {"billions", row.published.billions},
            {"ranks", row.published.ranks},
            {"batch", row.published.batch},
            {"layout", document_of(row.published.layout)},
            {"published_tflops", row.published.tflops},
            {"tflops", row.ours.tflops},
            {"deviation", row.deviation()},
            {"place", row.place},
            {"meshes", row.meshes},
            {"fastest", document_of(row.fastest)},
        });
    }
    return document.dump() + "\n";
}

}  // namespace dist::cli
