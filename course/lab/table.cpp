#include <algorithm>
#include <fmt/format.h>

#include "course/algorithms/units.hpp"
#include "course/lab/measured.hpp"
#include "course/lab/verdict.hpp"

namespace dist::lab {
namespace {

constexpr double kNano = 1e9;
// the fifth column, and the last, are as wide as the longest name
constexpr const char* kLine =
    "{:>12} {:>11} {:>6} {:>6} {:>{}} {:>12} {:>11} {:>11} {:>7} {:>7} {:>7} {:>13} {:>9} {:>9} "
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

/// The ratio to `first`, with what is known of it: "1.48", "1.01=", "0.97?".
std::string marked(const Measured& measured, const Point& point, const std::string& first) {
    const std::optional<Interval>& ratio = first == "mpi" ? point.vs_mpi : point.vs_naive;
    if (!ratio) {
        return "- ";
    }
    const Lead lead = point.algorithm == first ? Lead::ahead : lead_at(measured, point, first);
    return fmt::format("{:.2f}{}", ratio->value, mark_of(lead));
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
        return "more ranks than cores: who shares one is drawn anew in each block; context "
               "switches are everywhere, so all iterations are kept";
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
    text += fmt::format(
        "# method: algorithms in turn, in a new order each round; input rewritten and ranks "
        "aligned before each call;\n"
        "#   time = maximum over ranks, median (min, p95) over clean iterations: no rank lost its "
        "core, and others took\n"
        "#   less than 5 % of the ranks' cores; every result is checked; GB/s = 10^9 bytes/s\n"
        "# vs naive, vs mpi: their time over this one, median over blocks of time of the ratio in "
        "one round; above 1 is\n"
        "#   faster; {}the 99 % interval leaves it open, or a time has not settled (time?)\n",
        machine.oversubscribed()
            ? fmt::format("? undecided: less than {}, or ", percent_of(kSharedCores.lead))
            : fmt::format("= within {}; ? undecided: ", percent_of(kOwnCores.level))
    );
    if (const LowerBound bound = learned_bound(measured); bound.p > 1) {
        text += fmt::format(
            "# bound: what has to happen at the least, at the best rates seen in this run (probes "
            "and fastest calls): the "
            "busiest rank goes through {:.2f} * size\n"
            "#   bytes, up to {:.1f} GB/s; if made of messages (all but shared and mpi) through "
            "{:.2f} * size, and ceil(log2 p)\n"
            "#   messages of {:.2f} us follow one another; eff = bound / time\n",
            bound.touched, best_rate(bound) / kNano, bound.received, bound.hop_s * kMicro
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

/// Why the columns of ratios are empty, where they are.
std::string remark_on_ratios(const Measured& measured) {
    const auto is_base = [](const Algorithm& algorithm) {
        return algorithm.name == kFirst || algorithm.name == "mpi";
    };
    if (measured.algorithms.size() < 2 || std::ranges::any_of(measured.algorithms, is_base)) {
        return "";
    }
    return "# no ratios: they are to naive and to mpi, and neither is among --algorithms\n";
}

std::string footer(const Measured& measured) {
    const std::size_t width = name_width(measured);
    std::string text = remarks_on_auto(measured) + remark_on_ratios(measured);
    for (const std::string& line : unsettled_in_words(measured)) {
        text += fmt::format("# {}\n", line);
    }
    if (const std::string said = sizes_in_words(verdict_over_sizes(measured, kFirst, kSecond));
        !said.empty()) {
        text += fmt::format("# {}\n", said);
    }
    for (const std::string& line : likely_in_words(measured)) {
        text += fmt::format("# {}\n", line);
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
    for (const std::size_t size : common_sizes(measurements)) {
        const std::string said =
            ranks_in_words(verdict_over_ranks(measurements, size, kFirst, kSecond));
        text += said.empty() ? "" : fmt::format("#   {:>8} {}\n", in_words(size), said);
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
            redop(measured), point.algorithm, width,
            fmt::format("{:.2f}{}", point.median_s * kMicro, point.unsettled.empty() ? ' ' : '?'),
            fmt::format("{:.2f}", point.min_s * kMicro),
            fmt::format("{:.2f}", point.p95_s * kMicro), fmt::format("{:.2f}", row.algbw_gbs),
            fmt::format("{:.2f}", row.busbw_gbs), point.wrong,
            fmt::format("{}/{}", point.clean, point.run), marked(measured, point, "naive"),
            marked(measured, point, "mpi"), fmt::format("{:.2f}", row.bound_s * kMicro),
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

std::string to_short_table(const std::vector<Measured>& measurements) {
    std::string text;
    for (const Measured& measured : measurements) {
        const std::size_t width = name_width(measured);
        text += fmt::format(
            "{} of float32 on {} ranks, {} cores. time: the slowest rank's, median\n"
            "vs naive, vs mpi: their time over this one; ? is no verdict\n"
            "{:>8}  {:<{}}  {:>12}  {:>9}  {:>9}\n",
            measured.collective.name, measured.machine.ranks, measured.machine.cores, "size",
            "algorithm", width, "time(us)", "vs naive ", "vs mpi "
        );
        for (const Point& point : measured.points) {
            text += fmt::format(
                "{:>8}  {:<{}}  {:>11.1f}{}  {:>9}  {:>9}\n", in_words(point.size_bytes),
                point.algorithm, width, point.median_s * kMicro,
                point.unsettled.empty() ? ' ' : '?', marked(measured, point, "naive"),
                marked(measured, point, "mpi")
            );
        }
        if (const std::string said = sizes_in_words(verdict_over_sizes(measured, kFirst, kSecond));
            !said.empty()) {
            text += said + "\n";
        }
        for (const std::string& line : likely_in_words(measured)) {
            text += line + "\n";
        }
    }
    return text;
}

std::string to_csv(const std::vector<Measured>& measurements) {
    std::string text =
        "size_bytes,count,type,redop,algorithm,time_us,min_us,p95_us,rank_min_us,rank_mean_us,"
        "algbw_gbs,"
        "busbw_gbs,wrong,clean,run,settled,vs_naive,vs_naive_low,vs_naive_high,vs_mpi,vs_mpi_low,"
        "vs_mpi_high,bound_us,"
        "efficiency,chose,cores,bound,load,ranks\n";
    const auto cell = [](std::optional<double> value) {
        return value ? fmt::format("{:.4f}", *value) : std::string();
    };
    const auto ratio = [](const std::optional<Interval>& one) {
        return one ? fmt::format("{:.4f},{:.4f},{:.4f}", one->value, one->low, one->high) : ",,";
    };
    const auto line = [&](const Row& row, const Measured& measured) {
        const Point& point = row.point;
        const Machine& machine = measured.machine;
        return fmt::format(
            "{},{},float,{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f},{},{},{},{},{},{},{"
            ":.3f},{},{},{},{},"
            "{:.2f},{}\n",
            point.size_bytes, point.size_bytes / sizeof(float), redop(measured), point.algorithm,
            point.median_s * kMicro, point.min_s * kMicro, point.p95_s * kMicro,
            point.fastest_rank_s * kMicro, point.mean_over_ranks_s * kMicro, row.algbw_gbs,
            row.busbw_gbs, point.wrong, point.clean, point.run,
            point.unsettled.empty() ? "yes" : "no", ratio(point.vs_naive), ratio(point.vs_mpi),
            row.bound_s * kMicro, cell(row.efficiency), point.chose, machine.cores,
            machine.bound ? "yes" : "no", machine.load, machine.ranks
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
