#include <algorithm>
#include <fmt/format.h>

#include "course/algorithms/units.hpp"
#include "course/lab/crossover.hpp"
#include "course/lab/measured.hpp"

namespace dist::lab {
namespace {

constexpr double kNano = 1e9;
// the fifth column, and the last, are as wide as the longest name
constexpr const char* kLine =
    "{:>12} {:>11} {:>6} {:>6} {:>{}} {:>11} {:>11} {:>11} {:>7} {:>7} {:>7} {:>13} {:>8} {:>8} "
    "{:>11} {:>5} {:>{}}\n";

/// How wide a column with the algorithms' names must be.
std::size_t name_width(const Measured& measured) {
    std::size_t width = std::string_view("algorithm").size();
    for (const Algorithm& algorithm : measured.algorithms) {
        width = std::max(width, algorithm.name.size());
    }
    for (const Choice& choice : measured.choices) {
        width = std::max(width, choice.best.name.size());
    }
    return width;
}

std::string or_dash(std::optional<double> value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

double best_rate(const LowerBound& bound) {
    double best = 0.0;
    for (const auto& [bytes, bytes_per_s] : bound.pass_bytes_per_s) {
        best = std::max(best, bytes_per_s);
    }
    return best;
}

std::string cores_in_words(const Machine& machine) {
    if (machine.oversubscribed()) {
        return "more ranks than cores: context switches are everywhere, so all iterations are kept";
    }
    return machine.bound ? "each rank bound to one core" : "ranks not bound to cores";
}

std::string header(const Measured& measured) {
    const Machine& machine = measured.machine;
    std::string text = fmt::format(
        "# {} of float32, in place; {} ranks on {} node(s), {} cores a node; {}\n"
        "# {}; {}; settings: {}; load {:.1f} at the start; seed {}\n",
        measured.collective.name, machine.ranks, machine.nodes, machine.cores,
        cores_in_words(machine), machine.cpu, machine.mpi, machine.mpi_settings, machine.load,
        measured.seed
    );
    text +=
        "# method: algorithms in turn, in a new order each round; input rewritten and ranks "
        "aligned before each call;\n"
        "#   time = maximum over ranks, median (min, p95) over clean iterations: no rank lost its "
        "core (over all, where\n"
        "#   an algorithm has fewer than 5 clean ones);\n"
        "#   every result is checked; vs naive, vs mpi: their time over this one, above 1 is "
        "faster; GB/s = 10^9 bytes/s\n";
    if (measured.bound.p > 1) {
        text += fmt::format(
            "# bound: what has to happen at the least, at the best rates seen in this run: the "
            "busiest rank goes through {:.2f} * size\n"
            "#   bytes, up to {:.1f} GB/s; if made of messages (all but shared and mpi) through "
            "{:.2f} * size, and ceil(log2 p)\n"
            "#   messages of {:.2f} us follow one another; eff = bound / time\n",
            measured.bound.touched, best_rate(measured.bound) / kNano, measured.bound.received,
            measured.bound.hop_s * kMicro
        );
    }
    for (const Algorithm& algorithm : measured.algorithms) {
        text += fmt::format("# {}: {}\n", algorithm.name, algorithm.what);
    }
    for (const std::string& note : measured.notes) {
        text += fmt::format("# {}\n", note);
    }
    return text;
}

/// What the cost model would have chosen, and what that would have cost.
std::string remarks_on_auto(const Measured& measured) {
    if (measured.choices.empty()) {
        return "";
    }
    std::string text =
        "# auto ran the fastest of a trial; the cost model, with constants probed in this run, "
        "would have chosen:\n";
    for (const Choice& choice : measured.choices) {
        text += fmt::format(
            "#   {:>8} {}{}\n", in_words(choice.size_bytes), choice.by_model.name,
            choice.by_model.name == choice.best.name
                ? ": the same"
                : fmt::format(
                      ", {:.2f} times as long as {} in the trial", choice.model_over_best,
                      choice.best.name
                  )
        );
    }
    return text;
}

std::string footer(const Measured& measured) {
    const std::size_t width = name_width(measured);
    std::string text = remarks_on_auto(measured);
    if (const std::string passes = crossover_in_words(measured, "naive", "ring"); !passes.empty()) {
        text += fmt::format("# {}\n", passes);
    }
    text += "# fit of time = alpha + beta * size, by least relative squares:\n";
    for (const auto& [algorithm, fit] : fits(measured)) {
        text += fmt::format("#   {:<{}} ", algorithm, width);
        text += fit.line
                    ? fmt::format(
                          "alpha {:>10.2f} us, beta {:>8.4f} ns/byte ({:.2f} GB/s), R2 {:.3f}",
                          fit.line->cost.alpha_s * kMicro, fit.line->cost.beta_s_per_byte * kNano,
                          1.0 / fit.line->cost.beta_s_per_byte / kNano, fit.line->r2
                      )
                    : fmt::format("no line: {}", fit.why_none);
        text += '\n';
    }
    return text;
}

/// At which number of ranks the ring passes naive, for each size.
std::string over_ranks_in_words(const std::vector<Measured>& measurements) {
    std::string text;
    for (const std::size_t size : sizes_of(measurements.front())) {
        const std::string passes = crossover_in_words(measurements, size, "naive", "ring");
        text += passes.empty() ? "" : fmt::format("#   {:>8} {}\n", in_words(size), passes);
    }
    text = text.empty() ? "" : "# over the number of ranks, between those measured:\n" + text;
    const std::string note = note_if_shared(measurements);
    return note.empty() ? text : text + fmt::format("# {}\n", note);
}

}  // namespace

std::string to_table(const Measured& measured) {
    const std::size_t width = name_width(measured);
    std::string text = header(measured);
    text += fmt::format(
        fmt::runtime(kLine), "size(B)", "count", "type", "redop", "algorithm", width, "time(us)",
        "min", "p95", "algbw", "busbw", "#wrong", "clean/run", "vs naive", "vs mpi", "bound(us)",
        "eff", "chose", width
    );
    for (const Row& row : rows(measured)) {
        const Point& point = row.point;
        text += fmt::format(
            fmt::runtime(kLine), point.size_bytes, point.size_bytes / sizeof(float), "float",
            measured.collective.redop, point.algorithm, width,
            fmt::format("{:.2f}", point.median_s * kMicro),
            fmt::format("{:.2f}", point.min_s * kMicro),
            fmt::format("{:.2f}", point.p95_s * kMicro), fmt::format("{:.2f}", row.algbw_gbs),
            fmt::format("{:.2f}", row.busbw_gbs), point.wrong,
            fmt::format("{}/{}", point.clean, point.run), or_dash(row.vs_naive, "{:.2f}"),
            or_dash(row.vs_mpi, "{:.2f}"), fmt::format("{:.2f}", row.bound_s * kMicro),
            row.efficiency ? fmt::format("{:.0f}%", *row.efficiency * 100) : "-",
            point.chose.empty() ? "-" : point.chose, width
        );
    }
    return text + footer(measured);
}

std::string to_table(const std::vector<Measured>& measurements) {
    std::string text;
    for (const Measured& measured : measurements) {
        text += to_table(measured) + (measurements.size() > 1 ? "\n" : "");
    }
    return measurements.size() > 1 ? text + over_ranks_in_words(measurements) : text;
}

std::string to_csv(const std::vector<Measured>& measurements) {
    std::string text =
        "size_bytes,count,type,redop,algorithm,time_us,min_us,p95_us,algbw_gbs,busbw_gbs,wrong,"
        "clean,run,vs_naive,vs_mpi,bound_us,efficiency,chose,ranks\n";
    const auto cell = [](std::optional<double> value) {
        return value ? fmt::format("{:.4f}", *value) : std::string();
    };
    const auto line = [&](const Row& row, const Measured& measured) {
        const Point& point = row.point;
        return fmt::format(
            "{},{},float,{},{},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f},{},{},{},{},{},{:.3f},{},{},{}\n",
            point.size_bytes, point.size_bytes / sizeof(float), measured.collective.redop,
            point.algorithm, point.median_s * kMicro, point.min_s * kMicro, point.p95_s * kMicro,
            row.algbw_gbs, row.busbw_gbs, point.wrong, point.clean, point.run, cell(row.vs_naive),
            cell(row.vs_mpi), row.bound_s * kMicro, cell(row.efficiency), point.chose,
            measured.machine.ranks
        );
    };
    for (const Measured& measured : measurements) {
        for (const Row& row : rows(measured)) {
            text += line(row, measured);
        }
    }
    return text;
}

}  // namespace dist::lab
