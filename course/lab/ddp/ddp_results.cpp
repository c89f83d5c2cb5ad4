#include "course/lab/ddp/ddp_results.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"

namespace dist::lab {

StepOptions parse_ddp_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
) {
    StepOptions options;
    CLI::App app{
        "Measures a step of training with each way to average gradients, in one run.", "bench ddp"};
    app.footer(
        "none      no communication: nothing can be faster\n"
        "average   average_gradients after backward, chapter 05\n"
        "ddp       the Reducer of chapter 06, its messages on a thread of their own\n"
        "pytorch   PyTorch's own c10d::Reducer over the course's ring, in the same way\n"
        "gloo      PyTorch's own c10d::Reducer over Gloo (TCP), where libgloo-dev is installed; on "
        "one machine\n"
    );
    add_step_options(app, options, ways);
    parse(app, argc, argv, help);
    return options;
}

std::string to_text(
    const StepOptions& options,
    const std::vector<Block>& blocks,
    const std::vector<long>& differ,
    int ranks,
    const std::string& libtorch
) {
    const std::vector<std::string>& ways = options.ways;
    const auto place = [&](const std::string& name) {
        return static_cast<std::size_t>(std::ranges::find(ways, name) - ways.begin());
    };
    const auto over = [&](std::size_t one, std::size_t other) {
        return one < ways.size() && other < ways.size()
                   ? ratio_text(blocks, one, other, options.shares_cores)
                   : std::string("- ");
    };
    if (options.json) {
        nlohmann::json document = {{"model", options.model}, {"batch", options.batch},
                                   {"ranks", ranks},         {"rounds", blocks.size()},
                                   {"libtorch", libtorch},   {"ways", nlohmann::json::array()}};
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const std::string why = why_unsettled(blocks, i);
            document["ways"].push_back(
                {{"name", ways[i]},
                 {"median_s", median(steps_of(blocks, i))},
                 {"unsettled", why.empty() ? nlohmann::json() : nlohmann::json(why)},
                 {"steps_s", steps_of(blocks, i)},
                 {"differ", differ[i]}}
            );
        }
        return document.dump(2) + "\n";
    }
    std::string text = fmt::format(
        "a step of {} on {} ranks with {} pictures each, LibTorch {}; medians of {} rounds\n\n"
        "{:<10} {:>9} {:>10}  {:>13}   {}\n",
        options.model, ranks, options.batch, libtorch, blocks.size(), "way", "ms", "over none",
        "pytorch over", "gradients as PyTorch's"
    );
    for (std::size_t i = 0; i < ways.size(); ++i) {
        std::string compared = "-";
        if (place("pytorch") < ways.size() && ways[i] != "none") {
            compared = differ[i] == 0
                           ? "bit for bit"
                           : fmt::format("not in {} of {} steps", differ[i], blocks.size());
        }
        text += fmt::format(
            "{:<10} {:>9.1f} {:>11} {:>13}   {}\n", ways[i], 1e3 * median(steps_of(blocks, i)),
            over(i, place("none")), over(place("pytorch"), i), compared
        );
    }
    return text + marks_explained(ways, blocks);
}

}  // namespace dist::lab
