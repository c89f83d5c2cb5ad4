#include "course/lab/mesh/mesh_results.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "course/lab/options.hpp"
#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"
#include "course/parallel/mesh_shape.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kDimensions = 4;   // kCounted begins with them
constexpr std::size_t kActivations = 7;  // and ends with this

double kilobytes(std::size_t bytes) {
    return static_cast<double>(bytes) / 1e3;
}

/// Of the rank that has most.
std::size_t most(const std::vector<MeshBytes>& ranks, std::size_t counted) {
    std::size_t bytes = 0;
    for (const MeshBytes& rank : ranks) {
        bytes = std::max(bytes, rank[counted]);
    }
    return bytes;
}

/// Measured less formula: the one that is furthest from 0, of all ranks and these counts.
std::int64_t difference(const MeshResult& result, std::size_t begin, std::size_t end) {
    std::int64_t largest = 0;
    for (std::size_t rank = 0; rank < result.measured.size(); ++rank) {
        for (std::size_t counted = begin; counted < end; ++counted) {
            const auto measured = static_cast<std::int64_t>(result.measured[rank][counted]);
            const auto formula = static_cast<std::int64_t>(result.formula[rank][counted]);
            if (std::abs(measured - formula) > std::abs(largest)) {
                largest = measured - formula;
            }
        }
    }
    return largest;
}

nlohmann::json by_name(const MeshBytes& bytes) {
    nlohmann::json all;
    for (std::size_t counted = 0; counted < bytes.size(); ++counted) {
        all[kCounted[counted]] = bytes[counted];
    }
    return all;
}

std::string to_json(const MeshOptions& options, const MeshReport& report) {
    nlohmann::json document = {
        {"ranks", report.ranks},
        {"layers", options.gpt.layers},
        {"width", options.gpt.width},
        {"heads", options.gpt.heads},
        {"context", options.gpt.context},
        {"batch", options.windows},
        {"pipeline", options.pipeline},
        {"zero", options.zero},
        {"sequence_parallel", options.sequence_parallel},
        {"optimizer", options.optimizer},
        {"rounds", report.blocks.size()},
        {"left_out", report.left_out},
        {"meshes", nlohmann::json::array()}};
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        const MeshResult& one = report.results[i];
        const std::string why = why_unsettled(report.blocks, i);
        nlohmann::json mesh = {
            {"mesh", one.name},
            {"micro_batches", one.micro_batches},
            {"median_s", median(steps_of(report.blocks, i))},
            {"unsettled", why.empty() ? nlohmann::json() : nlohmann::json(why)},
            {"steps_s", steps_of(report.blocks, i)},
            {"waiting", median(one.waiting)},
            {"formula_bubble", one.bubble},
            {"by_rank", nlohmann::json::array()}};
        for (std::size_t rank = 0; rank < one.measured.size(); ++rank) {
            mesh["by_rank"].push_back(
                {{"measured", by_name(one.measured[rank])}, {"formula", by_name(one.formula[rank])}}
            );
        }
        document["meshes"].push_back(mesh);
    }
    return document.dump(2) + "\n";
}

/// Two columns for each count, and a last one: the difference in bytes.
std::string byte_table(
    const std::string& title, const MeshReport& report, std::size_t begin, std::size_t end
) {
    std::string text = fmt::format("\n{}\n{:<16}", title, "");
    std::string second = fmt::format("{:<16}", "mesh");
    for (std::size_t counted = begin; counted < end; ++counted) {
        text += fmt::format("{:>18}", kCounted[counted]);
        second += fmt::format("{:>9}{:>9}", "measured", "formula");
    }
    text += "\n" + second + fmt::format("{:>12}\n", "difference");
    for (const MeshResult& one : report.results) {
        text += fmt::format("{:<16}", one.name);
        for (std::size_t counted = begin; counted < end; ++counted) {
            text += fmt::format(
                "{:>9.1f}{:>9.1f}", kilobytes(most(one.measured, counted)),
                kilobytes(most(one.formula, counted))
            );
        }
        text += fmt::format("{:>12}\n", difference(one, begin, end));
    }
    return text;
}

std::string time_table(const MeshReport& report, bool shares_cores) {
    const auto& results = report.results;
    const std::string all_of_dp = fmt::format("dp={}", report.ranks);
    const auto found = std::ranges::find(results, all_of_dp, &MeshResult::name);
    const auto first = static_cast<std::size_t>(found - results.begin());
    std::string text = fmt::format(
        "{:<16}{:>4}{:>10}{:>12}{:>10}{:>11}\n", "mesh", "m", "ms", "over " + all_of_dp, "waits %",
        "bubble %"
    );
    for (std::size_t i = 0; i < results.size(); ++i) {
        text += fmt::format(
            "{:<16}{:>4}{:>10.1f}{:>12}{:>10.0f}{:>11.1f}\n", results[i].name,
            results[i].micro_batches, 1e3 * median(steps_of(report.blocks, i)),
            found == results.end() ? "- " : ratio_text(report.blocks, i, first, shares_cores),
            1e2 * median(results[i].waiting), 1e2 * results[i].bubble
        );
    }
    return text;
}

constexpr const char* kHelp =
    "ms           a step of the slowest rank; the batch of a step is the same on every mesh\n"
    "waits        share of a step in which a rank sends, receives or waits, on the thread that\n"
    "             computes. Where ranks share cores they also wait for these, so it is no bubble.\n"
    "bubble       of the schedule: (p-1) / (m+p-1) for 1F1B, with messages that take no time.\n"
    "             bench pipeline measures it, with stages that sleep.\n"
    "sent, held   of the rank that has most; difference is measured less formula, where ranks are\n"
    "             furthest from it\n"
    "dp           gradients, over the ranks of dp and cp, which hold the same parameters\n"
    "pp           outputs and their gradients, from stage to stage\n"
    "cp           keys and values, and their gradients\n"
    "tp           activations inside of layers, and both ends of the vocabulary\n"
    "activations  all that is held in a step beside parameters, gradients and optimizer, at most.\n"
    "             The formula counts what autograd keeps of the micro-batches in flight, with "
    "1F1B\n"
    "             min(p-s, m) on stage s, and the batch. The difference is what a layer needs "
    "while\n"
    "             it computes, and messages on their way; of zb also the gradients that W waits "
    "with.\n"
    "Two floats for the loss go to all ranks of an example, and are not counted. With --zero 3, "
    "and\n"
    "several micro-batches in flight, more is gathered than the formula says.\n"
    "A mesh that cannot cut this model or batch is left out.\n"
    "\n"
    "Example: is a tensor group worth it beside a pipeline, for a wider model?\n"
    "  ./shardlings bench mesh -n 4 --width 256 --mesh dp=4 tp=4 pp=4 pp=2,tp=2\n";

std::string why_no_mesh(const std::string& text) {
    try {
        trainer::read_mesh(text);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

void add_model_options(
    CLI::App& app, MeshOptions& options, const std::vector<std::string>& schedules
) {
    const auto number = [&](const char* name, auto& value, const char* what) {
        app.add_option(name, value, what)->check(CLI::Range(1, 1 << 20))->capture_default_str();
    };
    number("--layers", options.gpt.layers, "Blocks, one behind the other");
    number("--width", options.gpt.width, "Floats that stand for a byte between two blocks");
    number("--heads", options.gpt.heads, "Of attention; they share the width");
    number("--context", options.gpt.context, "Bytes that it sees at most");
    number("--batch", options.windows, "Windows of a step, which the ranks of dp share");
    app.add_option(
           "--micro-batches", options.micro_batches,
           "In how many parts a rank's batch goes through the model. Default: pp"
    )
        ->check(CLI::Range(1, 4096));
    app.add_option("--pipeline", options.pipeline, "The schedule of the stages")
        ->check(CLI::IsMember(schedules))
        ->capture_default_str();
    app.add_option(
           "--zero", options.zero,
           "What ranks of dp and cp cut into shards: 1 the optimizer, 2 gradients as well, 3 "
           "parameters as well"
    )
        ->check(CLI::Range(0, 3))
        ->capture_default_str();
    app.add_flag(
        "--sequence-parallel", options.sequence_parallel,
        "Between two cut layers each rank of tp has its part of the tokens only"
    );
    app.add_option("--optimizer", options.optimizer, "sgd, with momentum, or adamw")
        ->check(CLI::IsMember({"sgd", "adamw"}))
        ->capture_default_str();
}

}  // namespace

MeshOptions parse_mesh_bench(
    int argc, char** argv, const std::vector<std::string>& schedules, std::string& help
) {
    MeshOptions options;
    options.batch = 1;  // of pictures, which nobody looks at
    CLI::App app{
        "Trains a small GPT on every mesh of so many ranks (chapter 08): how long a step takes, "
        "what a rank sends along each dimension and what it holds, measured beside formulas.",
        "bench mesh"};
    app.footer(kHelp);
    add_model_options(app, options, schedules);
    app.add_option("--mesh", options.ways, "Only these, such as dp=4 dp=2,tp=2")
        ->check([](const std::string& text) { return why_no_mesh(text); })
        ->type_name("MESH...");
    app.add_option(
           "--rounds", options.rounds,
           "Timed steps on each mesh, taken in turn; 15, and up to 45 until the times settle, if "
           "not given"
    )
        ->check(CLI::Range(1, 1'000'000))
        ->each([&options](const std::string& rounds) { options.most_rounds = std::stoi(rounds); });
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--csv", options.csv, "Write one table as CSV; - for standard output")
        ->type_name("FILE");
    app.add_option("--answer", options.to, "Write here what would go to standard output")
        ->group("");
    app.add_flag("--progress", options.progress, "Show progress on standard error");
    parse(app, argc, argv, help);
    if (options.json && options.csv == "-") {
        throw UsageError("--json and --csv - both want standard output; give --csv a file");
    }
    return options;
}

std::string to_csv(const MeshReport& report) {
    std::string text = "mesh,micro_batches,step_s,waiting,formula_bubble";
    for (const char* const name : kCounted) {
        text += fmt::format(",{0}_bytes,{0}_formula_bytes", name);
    }
    text += "\n";
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        const MeshResult& one = report.results[i];
        text += fmt::format(
            "\"{}\",{},{:.6f},{:.4f},{:.4f}", one.name, one.micro_batches,
            median(steps_of(report.blocks, i)), median(one.waiting), one.bubble
        );
        for (std::size_t counted = 0; counted < kCounted.size(); ++counted) {
            text += fmt::format(",{},{}", most(one.measured, counted), most(one.formula, counted));
        }
        text += "\n";
    }
    return text;
}

std::string to_text(const MeshOptions& options, const MeshReport& report) {
    if (options.json) {
        return to_json(options, report);
    }
    if (options.csv == "-") {
        return to_csv(report);
    }
    std::vector<std::string> names;
    std::ranges::transform(report.results, std::back_inserter(names), &MeshResult::name);
    std::string text = fmt::format(
        "a GPT of {} layers of width {}, {} heads, context {}, on {} ranks: {} windows a step, {}, "
        "{}{}{}; medians of {} rounds\n\n",
        options.gpt.layers, options.gpt.width, options.gpt.heads, options.gpt.context, report.ranks,
        options.windows, options.optimizer, options.pipeline,
        options.zero > 0 ? fmt::format(", zero {}", options.zero) : "",
        options.sequence_parallel ? ", sequence parallel" : "", report.blocks.size()
    );
    text += time_table(report, options.shares_cores) + marks_explained(names, report.blocks);
    text +=
        byte_table("KB that a rank sends in a step; difference in bytes", report, 0, kDimensions);
    text += byte_table(
        "KB that a rank holds between two steps; difference in bytes", report, kDimensions,
        kActivations
    );
    text += byte_table(
        "KB that a rank holds beside these in a step, at most", report, kActivations,
        kCounted.size()
    );
    for (const std::string& line : report.left_out) {
        text += fmt::format("\nleft out: {}", line);
    }
    return text + (report.left_out.empty() ? "" : "\n");
}

}  // namespace dist::lab
