#include "course/lab/picture.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <set>

#include "course/algorithms/units.hpp"
#include "course/lab/verdict.hpp"
#include "course/plots/page.hpp"

namespace dist::lab {
namespace {

constexpr double kMostTicks = 24;

/// A line: one algorithm on one number of ranks.
struct Line {
    std::string name;
    std::string algorithm;
    const Measured* measured;
    plots::Style style;
};

plots::Style style(std::size_t place) {
    return plots::kStyles[place % plots::kStyles.size()];
}

/// The same for an algorithm in every picture of its collective, whatever else is measured.
plots::Style style_of(const Collective& collective, std::string_view name) {
    const std::vector<Algorithm> all = find_algorithms(collective, {});
    return style(
        static_cast<std::size_t>(std::ranges::find(all, name, &Algorithm::name) - all.begin())
    );
}

bool has(const Measured& measured, std::string_view algorithm) {
    return std::ranges::find(measured.algorithms, algorithm, &Algorithm::name) !=
           measured.algorithms.end();
}

/// One for each algorithm, in the order of the tables.
std::vector<Line> lines_of(const Measured& measured) {
    std::vector<Line> lines;
    for (const Algorithm& algorithm : find_algorithms(measured.collective, {})) {
        if (has(measured, algorithm.name)) {
            const std::string name(algorithm.name);
            lines.push_back({name, name, &measured, style_of(measured.collective, name)});
        }
    }
    return lines;
}

/// One algorithm, a line for each number of ranks: the `first`-th style and those that follow.
std::vector<Line> over_ranks(
    const std::vector<Measured>& measurements, const std::string& algorithm, std::size_t first
) {
    std::vector<Line> lines;
    for (const Measured& measured : measurements) {
        if (measured.machine.ranks > 1) {
            const std::string name = fmt::format("{}, {} ranks", algorithm, measured.machine.ranks);
            lines.push_back({name, algorithm, &measured, style(first + lines.size())});
        }
    }
    return lines;
}

plots::Curve curve_of(const Line& line, const std::function<plots::Spot(const Point&)>& spot) {
    plots::Curve curve{line.name, line.style, {}, false};
    for (const Point& point : line.measured->points) {
        if (point.algorithm == line.algorithm) {
            curve.points.push_back(spot(point));
            curve.points.back().x = static_cast<double>(point.size_bytes);
        }
    }
    return curve;
}

plots::Panel times(const std::vector<Line>& lines) {
    plots::Panel panel{"time", "%.0s %cs", {}};
    for (const Line& line : lines) {
        panel.curves.push_back(curve_of(line, [](const Point& point) {
            return plots::Spot{.y = point.median_s, .grey = !point.unsettled.empty()};
        }));
    }
    return panel;
}

/// How many times as fast as `first`, with the interval where there is one. Grey where nothing is decided.
plots::Panel ratios(
    const std::vector<Line>& lines, const std::string& first, const std::string& title
) {
    plots::Panel panel{title, "%g", {}, 0.25, true};
    for (const Line& line : lines) {
        panel.curves.push_back(curve_of(line, [&](const Point& point) {
            const std::optional<Interval>& ratio = first == "mpi" ? point.vs_mpi : point.vs_naive;
            plots::Spot spot{.y = ratio ? ratio->value : 0.0};
            if (ratio && std::isfinite(ratio->high)) {
                spot.range = {ratio->low, ratio->high};
            }
            spot.grey = point.algorithm != first &&
                        lead_at(*line.measured, point, first) == Lead::undecided;
            return spot;
        }));
    }
    return panel;
}

/// The line that no algorithm of these means can be below.
plots::Curve bound(const char* name, const Measured& measured, Means means) {
    plots::Curve curve{name, {"#808080", 0}, {}, true};
    const LowerBound bound = learned_bound(measured);
    for (const std::size_t size : sizes_of(measured)) {
        curve.points.push_back({static_cast<double>(size), bound.seconds(size, means)});
    }
    return curve;
}

/// The sizes that were asked for, as many as can be read side by side.
std::vector<plots::Tick> ticks_of(const std::vector<Measured>& measurements) {
    std::set<std::size_t> asked_for;
    for (const Measured& measured : measurements) {
        for (const Point& point : measured.points) {
            if (!point.between) {
                asked_for.insert(point.size_bytes);
            }
        }
    }
    const double whole =
        static_cast<double>(*asked_for.rbegin()) / static_cast<double>(*asked_for.begin());
    const double nearest = std::pow(whole, 1 / kMostTicks);
    std::vector<plots::Tick> ticks;
    for (const std::size_t size : asked_for) {
        const auto x = static_cast<double>(size);
        if (ticks.empty() || x / ticks.back().x >= nearest) {
            ticks.push_back({x, in_words(size)});
        }
    }
    return ticks;
}

/// What all others are compared with; nothing if there is nothing to compare.
std::string baseline(const Measured& measured) {
    const bool one = measured.algorithms.size() == 1;
    return one ? "" : has(measured, kFirst) ? kFirst : has(measured, "mpi") ? "mpi" : "";
}

void draw_one(plots::Page& page, const Measured& measured) {
    const std::vector<Line> lines = lines_of(measured);
    page.panels.push_back(times(lines));
    if (measured.bound.p > 1) {
        page.panels.back().curves.push_back(bound("least, by messages", measured, Means::messages));
        page.panels.back().curves.push_back(
            bound("least, by memory", measured, Means::shared_memory)
        );
    }
    if (const std::string first = baseline(measured); !first.empty()) {
        page.panels.push_back(ratios(
            lines, first, "times as fast as " + (first == "mpi" ? std::string("MPI's own") : first)
        ));
    }
    const Verdict verdict = verdict_over_sizes(measured, kFirst, kSecond);
    for (const Crossing& crossing : verdict.crossings()) {
        page.bands.push_back({crossing.low, crossing.high, verdict.words(crossing)});
    }
}

/// The ring, or the first that was asked for, beside the baseline.
void draw_over_ranks(plots::Page& page, const std::vector<Measured>& measurements) {
    const Measured& last = measurements.back();
    const std::string first = baseline(last);
    const auto other = std::ranges::find_if(last.algorithms, [&](const Algorithm& one) {
        return one.name != first;
    });
    const std::string second = has(last, kSecond) ? kSecond : std::string(other->name);
    std::vector<Line> lines = over_ranks(measurements, second, 0);
    if (!first.empty()) {
        page.panels.push_back(
            ratios(lines, first, fmt::format("{}: times as fast as {}", second, first))
        );
        const std::vector<Line> beside = over_ranks(measurements, first, lines.size());
        lines.insert(lines.end(), beside.begin(), beside.end());
    }
    page.panels.push_back(times(lines));
}

}  // namespace

std::string gnuplot_script(const std::vector<Measured>& measurements) {
    const bool several = measurements.size() > 1;
    const Measured& last = measurements.back();
    plots::Page page;
    page.title = fmt::format(
        "{} of float32, {}: {}", last.collective.name,
        several ? "over sizes and numbers of ranks" : fmt::format("{} ranks", last.machine.ranks),
        last.machine.mpi
    );
    page.ticks = ticks_of(measurements);
    if (several) {
        draw_over_ranks(page, measurements);
    } else {
        draw_one(page, last);
    }
    return plots::script_of(page);
}

}  // namespace dist::lab
