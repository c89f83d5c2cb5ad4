#include "course/lab/pipeline/pipeline_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/lab/options.hpp"
#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"

namespace dist::lab {
namespace {

/// How far zero bubble is ahead of 1F1B, a line for each m that both have.
std::string zero_bubble_lead(const std::vector<PipelineResult>& results) {
    std::string text;
    for (const PipelineResult& zb : results) {
        for (const PipelineResult& other : results) {
            if (zb.schedule == "zb" && other.schedule == "1f1b" &&
                zb.micro_batches == other.micro_batches) {
                text += fmt::format(
                    "m = {}: zero bubble is {:.2f} times as fast as 1F1B, by the formula {:.2f}\n",
                    zb.micro_batches, median(other.steps_s) / median(zb.steps_s),
                    other.formula_s / zb.formula_s
                );
            }
        }
    }
    return text;
}

std::string to_json(
    const PipelineOptions& options,
    const std::vector<PipelineResult>& results,
    int ranks,
    long disturbed
) {
    nlohmann::json document = {
        {"ranks", ranks},
        {"stage_ms", options.stage_ms},
        {"rounds", options.rounds},
        {"disturbed_rounds", disturbed},
        {"results", nlohmann::json::array()}};
    for (const PipelineResult& one : results) {
        document["results"].push_back(
            {{"schedule", one.schedule},
             {"micro_batches", one.micro_batches},
             {"median_s", median(one.steps_s)},
             {"formula_s", one.formula_s},
             {"bubble", median(one.bubbles)},
             {"formula_bubble", one.formula_bubble},
             {"steps_s", one.steps_s},
             {"bubbles", one.bubbles}}
        );
    }
    return document.dump(2) + "\n";
}

}  // namespace

PipelineOptions parse_pipeline_options(
    int argc, char** argv, const std::vector<std::string>& schedules, std::string& help
) {
    PipelineOptions options;
    options.ways = schedules;
    options.rounds = 5;
    CLI::App app{
        "Measures the bubble of a pipeline beside the formula's. run_pipeline (chapter 08) goes "
        "through each schedule; stages sleep instead of computing, so a few cores do.",
        "bench pipeline"};
    app.footer(
        "step       of the slowest rank\n"
        "bubble     share of a step in which a rank does not compute, mean over ranks\n"
        "formula    simulate_schedule's (chapter 08), with messages that take no time\n"
        "Interleaved has two chunks a rank, each half as long, and is measured where the number of "
        "micro-batches is a multiple of the ranks.\n"
        "\n"
        "Example: how far is zero bubble ahead on 4 ranks, where W takes half of F?\n"
        "  ./shardlings bench pipeline -n 4 --schedule 1f1b,zb --stage-ms 8,8,4\n"
    );
    app.add_option("--micro-batches", options.micro_batches, "So many, such as 4,8,16")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024))
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("--schedule", options.ways, "Only these, such as 1f1b,zb")
        ->delimiter(',')
        ->check(CLI::IsMember(schedules))
        ->allow_extra_args(false);
    app.add_option(
           "--stage-ms", options.stage_ms,
           "Milliseconds that F, I and W of a rank take, such as 5,5,5; or one number for all three"
    )
        ->delimiter(',')
        ->check(CLI::Range(0.1, 1000.0))
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "Timed steps of each, taken in turn")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--csv", options.csv, "Write the table as CSV; - for standard output")
        ->type_name("FILE");
    app.add_option("--answer", options.to, "Write here what would go to standard output")
        ->group("");
    app.add_flag("--progress", options.progress, "Show progress on standard error");
    parse(app, argc, argv, help);
    options.most_rounds = options.rounds;
    if (options.stage_ms.size() == 1) {
        options.stage_ms.resize(3, options.stage_ms.front());
    }
    if (options.stage_ms.size() != 3) {
        throw UsageError("--stage-ms takes one number, or three: F, I and W");
    }
    if (options.json && options.csv == "-") {
        throw UsageError("--json and --csv - both want standard output; give --csv a file");
    }
    return options;
}

std::string to_csv(const std::vector<PipelineResult>& results) {
    std::string text = "schedule,micro_batches,step_s,formula_s,bubble,formula_bubble\n";
    for (const PipelineResult& one : results) {
        text += fmt::format(
            "{},{},{:.6f},{:.6f},{:.4f},{:.4f}\n", one.schedule, one.micro_batches,
            median(one.steps_s), one.formula_s, median(one.bubbles), one.formula_bubble
        );
    }
    return text;
}

std::string to_text(
    const PipelineOptions& options,
    const std::vector<PipelineResult>& results,
    int ranks,
    long disturbed
) {
    if (options.json) {
        return to_json(options, results, ranks, disturbed);
    }
    if (options.csv == "-") {
        return to_csv(results);
    }
    std::string text = fmt::format(
        "stages that sleep, on {} ranks: F {} ms, I {} ms, W {} ms; medians of {} steps\n\n"
        "{:>3}  {:<12}{:>9}{:>10}{:>10}{:>10}{:>12}\n",
        ranks, options.stage_ms[0], options.stage_ms[1], options.stage_ms[2], options.rounds, "m",
        "schedule", "step ms", "formula", "bubble %", "formula", "difference"
    );
    for (const PipelineResult& one : results) {
        const double bubble = median(one.bubbles);
        text += fmt::format(
            "{:>3}  {:<12}{:>9.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>+12.1f}\n", one.micro_batches,
            one.schedule, 1e3 * median(one.steps_s), 1e3 * one.formula_s, 1e2 * bubble,
            1e2 * one.formula_bubble, 1e2 * (bubble - one.formula_bubble)
        );
    }
    const std::string lead = zero_bubble_lead(results);
    text += lead.empty() ? "" : "\n" + lead;
    if (disturbed > 0) {
        text += fmt::format(
            "\nIn {} of {} rounds others took more than 5 % of the cores: sleep ends late then, "
            "and "
            "what is measured is too long.\n",
            disturbed, options.rounds
        );
    }
    return text;
}

}  // namespace dist::lab
