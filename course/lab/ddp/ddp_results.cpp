#include "course/lab/ddp/ddp_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

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
    const std::map<std::string, Times>& times,
    int ranks,
    const std::string& libtorch
) {
    const auto median_of = [&](const std::string& name) -> std::optional<double> {
        const auto found = times.find(name);
        return found == times.end() ? std::nullopt : std::optional(median(found->second.steps_s));
    };
    const auto over = [](std::optional<double> one, std::optional<double> other) {
        return one && other ? fmt::format("{:.2f}", *one / *other) : std::string("-");
    };
    if (options.json) {
        nlohmann::json document = {{"model", options.model}, {"batch", options.batch},
                                   {"ranks", ranks},         {"rounds", options.rounds},
                                   {"libtorch", libtorch},   {"ways", nlohmann::json::array()}};
        for (const std::string& name : options.ways) {
            document["ways"].push_back(
                {{"name", name},
                 {"median_s", *median_of(name)},
                 {"steps_s", times.at(name).steps_s},
                 {"differ", times.at(name).differ}}
            );
        }
        return document.dump(2) + "\n";
    }
    std::string text = fmt::format(
        "a step of {} on {} ranks with {} pictures each, LibTorch {}; medians of {} rounds\n\n"
        "{:<10} {:>9} {:>10} {:>13}   {}\n",
        options.model, ranks, options.batch, libtorch, options.rounds, "way", "ms", "over none",
        "pytorch over", "gradients as PyTorch's"
    );
    for (const std::string& name : options.ways) {
        const Times& one = times.at(name);
        std::string compared = "-";
        if (times.contains("pytorch") && name != "none") {
            compared = one.differ == 0
                           ? "bit for bit"
                           : fmt::format("not in {} of {} steps", one.differ, options.rounds);
        }
        text += fmt::format(
            "{:<10} {:>9.1f} {:>10} {:>13}   {}\n", name, 1e3 * *median_of(name),
            over(median_of(name), median_of("none")), over(median_of("pytorch"), median_of(name)),
            compared
        );
    }
    return text;
}

}  // namespace dist::lab
