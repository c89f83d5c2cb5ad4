#include "course/lab/zero/zero_results.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"
#include "course/plots/gnuplot.hpp"

namespace dist::lab {

namespace {

using nn::MemoryKind;

double megabytes(std::size_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

/// Of parameters, gradients and the optimizer's state: what the formula speaks of.
std::size_t states_of(const nn::MemoryBytes& bytes) {
    return bytes.of(MemoryKind::parameters) + bytes.of(MemoryKind::gradients) +
           bytes.of(MemoryKind::optimizer);
}

nlohmann::json by_kind(const nn::MemoryBytes& bytes) {
    nlohmann::json all;
    for (std::size_t kind = 0; kind < nn::kMemoryKinds; ++kind) {
        all[nn::name(static_cast<MemoryKind>(kind))] = bytes.of_kind[kind];
    }
    return all;
}

std::string to_json(
    const ZeroOptions& options,
    const std::vector<ZeroResult>& results,
    const std::vector<Block>& blocks,
    int ranks,
    const std::string& libtorch
) {
    nlohmann::json document = {
        {"model", options.model},         {"batch", options.batch},         {"ranks", ranks},
        {"rounds", blocks.size()},        {"optimizer", options.optimizer}, {"libtorch", libtorch},
        {"ways", nlohmann::json::array()}};
    for (std::size_t i = 0; i < results.size(); ++i) {
        const ZeroResult& result = results[i];
        const std::string why = why_unsettled(blocks, i);
        document["ways"].push_back(
            {{"name", result.name},
             {"held", by_kind(result.held)},
             {"formula", result.formula},
             {"peak", by_kind(result.peak)},
             {"sent", result.sent},
             {"median_s", median(steps_of(blocks, i))},
             {"unsettled", why.empty() ? nlohmann::json() : nlohmann::json(why)},
             {"steps_s", steps_of(blocks, i)}}
        );
    }
    return document.dump(2) + "\n";
}

/// Samples at most this many, each the highest of those that are nearest to it.
std::vector<MemorySample> thinned(const ZeroResult& result, std::size_t most) {
    std::vector<MemorySample> all(most);
    for (std::size_t i = 0; i < most; ++i) {
        all[i].seconds = result.end_s * static_cast<double>(i) / static_cast<double>(most - 1);
    }
    nn::MemoryBytes held;
    std::size_t filled = 0;
    for (const MemorySample& sample : result.timeline) {
        const double at = sample.seconds / result.end_s * static_cast<double>(most - 1);
        const std::size_t column = std::min(most - 1, static_cast<std::size_t>(std::lround(at)));
        for (; filled < column; ++filled) {  // until then nothing changed
            all[filled + 1].held = held;
        }
        held = sample.held;
        if (held.total() > all[column].held.total()) {
            all[column].held = held;
        }
    }
    for (; filled + 1 < most; ++filled) {
        all[filled + 1].held = held;
    }
    return all;
}

constexpr std::array kKinds = {
    MemoryKind::parameters, MemoryKind::gradients, MemoryKind::optimizer, MemoryKind::activations,
    MemoryKind::other};

/// Milliseconds, and the sums of the first kind, of the first two, ...
std::string block(std::size_t number, const ZeroResult& result) {
    std::string text = fmt::format("$way{} << EOD\n", number);
    constexpr std::size_t kColumns = 200;
    for (const MemorySample& sample : thinned(result, kColumns)) {
        text += fmt::format("{:.4g}", 1e3 * sample.seconds);
        std::size_t sum = 0;
        for (const MemoryKind kind : kKinds) {
            sum += sample.held.of(kind);
            text += fmt::format(" {:.5g}", megabytes(sum));
        }
        text += "\n";
    }
    return text + "EOD\n";
}

}  // namespace

ZeroOptions parse_zero_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
) {
    ZeroOptions options;
    CLI::App app{
        "Measures what each stage of ZeRO holds, sends and takes in a step of training, beside "
        "DDP.",
        "bench zero"};
    app.footer(
        "held      between two steps: parameters, gradients and the optimizer's state of a rank\n"
        "over      bytes of them that memory_model (chapter 07) does not know of\n"
        "peak      most that is held in a step, with all else: activations, rows, messages\n"
        "sent      by a rank in a step\n"
        "The picture shows what rank 0 holds over a step, by what it is for.\n"
    );
    add_step_options(app, options, ways);
    app.add_option("--optimizer", options.optimizer, "sgd, with momentum, or adamw")
        ->check(CLI::IsMember({"sgd", "adamw"}))
        ->capture_default_str();
    app.add_option(
           "--shard-ranks", options.shard_ranks,
           "For zero3: how many neighbouring ranks cut one copy of the weights into shards, beside "
           "other copies. Default: all"
    )
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
    app.add_option("--svg", options.svg, "Draw what is held over a step: an SVG file")
        ->type_name("FILE");
    parse(app, argc, argv, help);
    return options;
}

std::string to_text(
    const ZeroOptions& options,
    const std::vector<ZeroResult>& results,
    const std::vector<Block>& blocks,
    int ranks,
    const std::string& libtorch
) {
    if (options.json) {
        return to_json(options, results, blocks, ranks, libtorch);
    }
    std::string text = fmt::format(
        "a step of {} with {} on {} ranks with {} pictures each, LibTorch {}; MB; times are "
        "medians of {} "
        "rounds\n\n{:<8}{:>11}{:>11}{:>11}{:>11}{:>7}{:>11}{:>10}{:>10}{:>10}\n",
        options.model, options.optimizer, ranks, options.batch, libtorch, blocks.size(), "way",
        "parameters", "gradients", "optimizer", "held", "over", "peak", "sent", "ms", "over ddp"
    );
    const auto ddp = std::ranges::find(results, "ddp", &ZeroResult::name);
    const auto first = static_cast<std::size_t>(ddp - results.begin());
    for (std::size_t i = 0; i < results.size(); ++i) {
        const ZeroResult& one = results[i];
        text += fmt::format(
            "{:<8}{:>11.2f}{:>11.2f}{:>11.2f}{:>11.2f}{:>7}{:>11.2f}{:>10.2f}{:>10.1f}{:>11}\n",
            one.name, megabytes(one.held.of(MemoryKind::parameters)),
            megabytes(one.held.of(MemoryKind::gradients)),
            megabytes(one.held.of(MemoryKind::optimizer)), megabytes(states_of(one.held)),
            static_cast<long>(states_of(one.held)) - static_cast<long>(one.formula),
            megabytes(one.peak.total()), megabytes(one.sent), 1e3 * median(steps_of(blocks, i)),
            ddp == results.end() ? "- " : ratio_text(blocks, i, first, options.shares_cores)
        );
    }
    return text + marks_explained(options.ways, blocks);
}

std::string gnuplot_script(
    const ZeroOptions& options, const std::vector<ZeroResult>& results, int ranks
) {
    double most_mb = 0;
    double longest_ms = 0;
    std::string text;
    for (std::size_t i = 0; i < results.size(); ++i) {
        text += block(i, results[i]);
        most_mb = std::max(most_mb, megabytes(results[i].peak.total()));
        longest_ms = std::max(longest_ms, 1e3 * results[i].end_s);
    }
    constexpr double kPanel = 180;
    constexpr double kTop = 80;
    constexpr double kBottom = 50;
    const double height = kTop + kPanel * static_cast<double>(results.size()) + kBottom;
    text += fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 900,{} noenhanced font 'sans-serif,13' background 'white'\n"
        "set multiplot title {}\n"
        "set xrange [0:{:.5g}]\nset yrange [0:{:.5g}]\nset grid\nset ylabel 'MB'\n"
        "set lmargin at screen 0.1\nset rmargin at screen 0.8\n",
        height,
        plots::quoted(fmt::format(
            "what a rank holds in a step: {}, {}, {} ranks, {} pictures each", options.model,
            options.optimizer, ranks, options.batch
        )),
        1.02 * longest_ms, 1.05 * most_mb
    );
    for (std::size_t i = 0; i < results.size(); ++i) {
        const ZeroResult& one = results[i];
        const double top = 1 - (kTop + kPanel * static_cast<double>(i)) / height;
        const double bottom = top - (kPanel - 45) / height;
        text += fmt::format(
            "set tmargin at screen {:.4f}\nset bmargin at screen {:.4f}\nset title {}\n"
            "{}set key at screen 0.99,{:.4f} right top\n{}"
            "set arrow 1 from {:.5g}, graph 0 to {:.5g}, graph 1 nohead dt 2 lc rgb '#808080' "
            "front\n"
            "set arrow 2 from {:.5g}, graph 0 to {:.5g}, graph 1 nohead dt 2 lc rgb '#808080' "
            "front\n"
            "plot ",
            top, bottom,
            plots::quoted(fmt::format(
                "{}: {:.1f} MB between steps, {:.1f} MB at most", one.name,
                megabytes(states_of(one.held)), megabytes(one.peak.total())
            )),
            i + 1 == results.size()
                ? "set format x '%g'\nset xlabel 'ms; dashed: forward ends, backward ends'\n"
                : "set format x ''\n",
            top, i == 0 ? "" : "unset key\n", 1e3 * one.forward_end_s, 1e3 * one.forward_end_s,
            1e3 * one.backward_end_s, 1e3 * one.backward_end_s
        );
        for (std::size_t kind = kKinds.size(); kind-- > 0;) {  // the highest sum behind
            text += fmt::format(
                "$way{} using 1:{} with filledcurves y1=0 lc rgb '{}' title '{}'{}", i, kind + 2,
                plots::kStyles[kind + 1].colour, nn::name(kKinds[kind]), kind == 0 ? "\n" : ", "
            );
        }
    }
    return text + "unset multiplot\n";
}

}  // namespace dist::lab
