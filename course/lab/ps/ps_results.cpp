#include "course/lab/ps/ps_results.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "course/lab/options.hpp"
#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"
#include "course/plots/gnuplot.hpp"

namespace dist::lab {
namespace {

double seconds_of(const PsResult& result) {
    std::vector<double> seconds;
    for (const PsRun& run : result.runs) {
        seconds.push_back(run.seconds());
    }
    return median(seconds);
}

double steps_per_s(const PsOptions& options, const PsResult& result) {
    return options.steps / seconds_of(result);
}

/// Against ddp in the same round, with stalls or without, as this one: median, least and most over rounds.
std::vector<double> ratios(const PsReport& report, const PsResult& result) {
    const auto ddp = std::ranges::find_if(report.results, [&](const PsResult& other) {
        return other.name == "ddp" && other.stalls == result.stalls;
    });
    std::vector<double> all;
    for (std::size_t round = 0; round < result.runs.size(); ++round) {
        all.push_back(ddp->runs[round].seconds() / result.runs[round].seconds());
    }
    std::ranges::sort(all);
    return all;
}

/// Of all workers' last quarter of steps, over all rounds.
double last_loss(const PsResult& result) {
    double sum = 0;
    double count = 0;
    for (const PsRun& run : result.runs) {
        for (const std::vector<PsStep>& steps : run.workers) {
            for (std::size_t i = steps.size() - (steps.size() + 3) / 4; i < steps.size(); ++i) {
                sum += steps[i].loss;
                ++count;
            }
        }
    }
    return sum / count;
}

/// The workers' mean loss of each step, and when the last of them had ended it.
std::vector<PsStep> curve(const PsRun& run) {
    std::vector<PsStep> all(run.workers.front().size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const std::vector<PsStep>& steps : run.workers) {
            all[i].end_s = std::max(all[i].end_s, steps[i].end_s);
            all[i].loss += steps[i].loss / static_cast<double>(run.workers.size());
        }
    }
    return all;
}

std::string to_json(const PsOptions& options, const PsReport& report) {
    nlohmann::json document = {{"model", options.model},     {"parameters", report.parameters},
                               {"batch", options.batch},     {"workers", report.workers},
                               {"servers", options.servers}, {"steps", options.steps},
                               {"rounds", options.rounds},   {"stall_ms", options.stall_ms},
                               {"seed", options.seed},       {"ways", nlohmann::json::array()}};
    for (const PsResult& result : report.results) {
        const std::vector<double> ratio = ratios(report, result);
        nlohmann::json way = {
            {"name", result.name},
            {"stalls", result.stalls},
            {"steps_per_s", steps_per_s(options, result)},
            {"vs_ddp", {{"ratio", median(ratio)}, {"low", ratio.front()}, {"high", ratio.back()}}},
            {"last_loss", last_loss(result)},
            {"busiest_bytes", result.runs.front().busiest_bytes},
            {"formula_bytes", result.formula_bytes},
            {"curve", nlohmann::json::array()}};
        for (const PsStep& step : curve(result.runs.front())) {
            way["curve"].push_back({{"end_s", step.end_s}, {"loss", step.loss}});
        }
        document["ways"].push_back(way);
    }
    return document.dump(2) + "\n";
}

/// "1 server".
std::string in_servers(int servers) {
    return fmt::format("{} server{}", servers, servers == 1 ? "" : "s");
}

constexpr std::size_t kMeanOf =
    5;  // steps, up to the one that is drawn: single losses go up and down

double mean_loss(const std::vector<PsStep>& steps, std::size_t at) {
    const std::size_t begin = at + 1 - std::min(at + 1, kMeanOf);
    double sum = 0;
    for (std::size_t i = begin; i <= at; ++i) {
        sum += steps[i].loss;
    }
    return sum / static_cast<double>(at + 1 - begin);
}

/// Curves of the ways with stalls, or without: from columns x and 3 of their data. The first is wide: another may lie on it.
std::string panel(
    const PsReport& report, bool stalls, const std::string& title, const std::string& label, int x
) {
    std::string curves;
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        if (report.results[i].stalls == stalls) {
            const auto style = plots::kStyles[(i / 2 + 1) % plots::kStyles.size()];
            curves += fmt::format(
                "{}$way{} using {}:3 with lines lw {} lc rgb '{}' title {}",
                curves.empty() ? "" : ", \\\n  ", i, x, i < 2 ? 5 : 2, style.colour,
                plots::quoted(report.results[i].name)
            );
        }
    }
    return fmt::format(
        "set title {}\nset xlabel {}\nplot {}\n", plots::quoted(title), plots::quoted(label), curves
    );
}

}  // namespace

double PsRun::seconds() const {
    double last_s = 0;
    for (const std::vector<PsStep>& steps : workers) {
        last_s = std::max(last_s, steps.back().end_s);
    }
    return last_s;
}

PsOptions parse_ps_bench(int argc, char** argv, std::string& help) {
    PsOptions options;
    CLI::App app{
        "Trains on parameter servers beside ddp: the last --servers ranks serve, the others are "
        "workers, and the same number of ranks train by ddp. Pictures are made up.",
        "bench ps"};
    app.option_defaults()->always_capture_default();
    app.add_option("--model", options.model, "small, resnet34 or resnet34-imagenet")
        ->check(CLI::IsMember({"small", "resnet34", "resnet34-imagenet"}));
    app.add_option("--batch", options.batch, "Pictures a worker and step")
        ->check(CLI::Range(1, 4096));
    app.add_option("--steps", options.steps, "Of each worker, in each round")
        ->check(CLI::Range(4, 1000000));
    app.add_option("--rounds", options.rounds, "Runs of each way, in turn")
        ->check(CLI::Range(1, 1000));
    app.add_option("--servers", options.servers, "Ranks that are servers")
        ->check(CLI::Range(1, 4096));
    app.add_option("--staleness", options.staleness, "Steps that a worker may be ahead: 0,2")
        ->delimiter(',')
        ->check(CLI::Range(0, 1000000));
    app.add_option(
           "--stall-ms", options.stall_ms,
           "All is measured twice: as it is, and where in each step one worker, drawn by --seed, "
           "stands still so long"
    )
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--rate", options.rate, "Learning rate")->check(CLI::Range(1e-9, 1e3));
    app.add_option("--seed", options.seed, "Of weights, pictures and stalls");
    app.add_option("--svg", options.svg, "Draw the loss over time and over examples");
    app.add_flag("--json", options.json, "One JSON document, nothing else");
    app.add_flag("--progress", options.progress)->group("");
    app.add_option("--answer", options.to)->group("");
    parse(app, argc, argv, help);
    return options;
}

std::string to_text(const PsOptions& options, const PsReport& report) {
    if (options.json) {
        return to_json(options, report);
    }
    std::string text = fmt::format(
        "# {}, {} parameters; {} workers with {} pictures a step, {}; {} steps, {} rounds, "
        "ways in turn\n"
        "# stalls: in each step one worker, drawn by seed {}, stands still for {:g} ms\n"
        "{:<18} {:>6} {:>9} {:>11} {:>8} {:>15} {:>10} {:>12} {:>12}\n",
        options.model, report.parameters, report.workers, options.batch,
        in_servers(options.servers), options.steps, options.rounds, options.seed, options.stall_ms,
        "# way", "stalls", "steps/s", "examples/s", "vs ddp", "(low to high)", "last loss",
        "busiest MB", "formula MB"
    );
    for (const PsResult& result : report.results) {
        const std::vector<double> ratio = ratios(report, result);
        const double speed = steps_per_s(options, result);
        constexpr double kMega = 1e6;
        text += fmt::format(
            "{:<18} {:>6} {:>9.2f} {:>11.1f} {:>8.2f} {:>15} {:>10.3f} {:>12.3f} {:>12.3f}\n",
            result.name, result.stalls ? "yes" : "no", speed,
            speed * report.workers * static_cast<double>(options.batch), median(ratio),
            fmt::format("({:.2f} to {:.2f})", ratio.front(), ratio.back()), last_loss(result),
            result.runs.front().busiest_bytes / kMega, result.formula_bytes / kMega
        );
    }
    return text +
           "# vs ddp: its time over this one, in the same round. busiest: what the rank that sends "
           "most sends for a step;\n"
           "#   it receives as much. formula: ddp 2n(p-1)/p floats, a server pn/S, of p workers\n";
}

std::string gnuplot_script(const PsOptions& options, const PsReport& report) {
    std::string data;
    double last_s = 0;
    double most = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        data += fmt::format("$way{} << EOD\n", i);
        const std::vector<PsStep> steps = curve(report.results[i].runs.front());
        for (std::size_t step = 0; step < steps.size(); ++step) {
            const std::int64_t seen =
                options.batch * report.workers * static_cast<std::int64_t>(step + 1);
            const double loss = mean_loss(steps, step);
            data += fmt::format("{:.5g} {} {:.5g}\n", steps[step].end_s, seen, loss);
            most = std::max(most, loss);
            least = std::min(least, loss);
        }
        last_s = std::max(last_s, steps.back().end_s);
        data += "EOD\n";
    }
    const double margin = 0.05 * (most - least);
    const std::int64_t examples = options.batch * report.workers * options.steps;
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 1240,820 noenhanced font 'sans-serif,13' background 'white'\n{}"
        "set multiplot layout 2,2 title {}\nset grid\nset ylabel 'loss, mean of {} steps'\n"
        "set yrange [{:.5g}:{:.5g}]\n"
        "set xrange [0:{:.5g}]\n{}unset key\nset xrange [0:{}]\n{}"
        "set xrange [0:{:.5g}]\n{}set xrange [0:{}]\n{}unset multiplot\n",
        data,
        plots::quoted(fmt::format(
            "{}: {} workers, {}; stalls of {:g} ms", options.model, report.workers,
            in_servers(options.servers), options.stall_ms
        )),
        kMeanOf, least - margin, most + margin, 1.02 * last_s,
        panel(report, false, "without stalls", "seconds", 1), examples,
        panel(report, false, "without stalls", "examples", 2), 1.02 * last_s,
        panel(report, true, "with stalls", "seconds", 1), examples,
        panel(report, true, "with stalls", "examples", 2)
    );
}

}  // namespace dist::lab
