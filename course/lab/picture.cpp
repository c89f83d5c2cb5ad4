#include "course/lab/picture.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "course/algorithms/units.hpp"
#include "course/lab/crossover.hpp"
#include "course/plots/page.hpp"

namespace dist::lab {
namespace {

using Ratio = std::optional<double> Row::*;

/// What stands above one tick: a size, or the largest one of a number of ranks.
struct Column {
    double x;
    const Measured* measured;
    std::size_t size_bytes;
    std::vector<Row> rows;  // of this size
};

std::vector<Column> columns_of(const std::vector<Measured>& measurements) {
    std::vector<Column> columns;
    for (const Measured& measured : measurements) {
        std::set<std::size_t> sizes = sizes_of(measured);
        if (measurements.size() > 1) {
            sizes = {*sizes.rbegin()};
        }
        const std::vector<Row> all = rows(measured);
        for (const std::size_t size : sizes) {
            const double x =
                measurements.size() > 1 ? measured.machine.ranks : static_cast<double>(size);
            Column column{x, &measured, size, {}};
            std::ranges::copy_if(all, std::back_inserter(column.rows), [&](const Row& row) {
                return row.point.size_bytes == size;
            });
            columns.push_back(column);
        }
    }
    return columns;
}

/// The same in every picture of this collective, whatever else is measured.
plots::Style style_of(const Collective& collective, std::string_view name) {
    const std::vector<Algorithm> all = find_algorithms(collective, {});
    const auto found = std::ranges::find(all, name, &Algorithm::name);
    return plots::kStyles[static_cast<std::size_t>(found - all.begin()) % plots::kStyles.size()];
}

/// A line for each algorithm, in the order of the tables; one that was not measured has no points.
template <class Value>
std::vector<plots::Curve> curves(const std::vector<Column>& columns, Value value) {
    const Collective& collective = columns.front().measured->collective;
    std::vector<plots::Curve> all;
    for (const Algorithm& algorithm : find_algorithms(collective, {})) {
        plots::Curve curve{
            std::string(algorithm.name), style_of(collective, algorithm.name), {}, false};
        for (const Column& column : columns) {
            const auto row = std::ranges::find(column.rows, algorithm.name, [](const Row& one) {
                return std::string_view(one.point.algorithm);
            });
            if (row != column.rows.end()) {
                curve.points.emplace_back(column.x, value(*row));
            }
        }
        if (!curve.points.empty()) {
            all.push_back(curve);
        }
    }
    return all;
}

plots::Curve bound(const char* name, const std::vector<Column>& columns, Means means) {
    plots::Curve curve{name, {"#808080", 0}, {}, true};
    for (const Column& column : columns) {
        curve.points.emplace_back(
            column.x, column.measured->bound.seconds(column.size_bytes, means)
        );
    }
    return curve;
}

plots::Panel times(const std::vector<Column>& columns) {
    plots::Panel panel{"time", "%.0s %cs", 10, {}};
    panel.curves = curves(columns, [](const Row& row) { return row.point.median_s; });
    if (columns.back().measured->bound.p > 1) {
        panel.curves.push_back(bound("least, by messages", columns, Means::messages));
        panel.curves.push_back(bound("least, by memory", columns, Means::shared_memory));
    }
    return panel;
}

bool measured(const std::vector<Column>& columns, Ratio ratio) {
    return std::ranges::any_of(columns, [&](const Column& column) {
        return std::ranges::any_of(column.rows, [&](const Row& row) {
            return (row.*ratio).has_value();
        });
    });
}

plots::Panel ratios(const std::vector<Column>& columns, Ratio ratio, const char* title) {
    plots::Panel panel{title, "%g", 2, {}, 0.25};
    panel.curves = curves(columns, [&](const Row& row) { return (row.*ratio).value_or(0.0); });
    return panel;
}

std::optional<Crossover> passes(const std::vector<Measured>& measurements, std::size_t size_bytes) {
    return measurements.size() == 1 ? crossover_of(measurements.front(), "naive", "ring")
                                    : crossover_of(measurements, size_bytes, "naive", "ring");
}

}  // namespace

std::string gnuplot_script(const std::vector<Measured>& measurements) {
    const bool over_ranks = measurements.size() > 1;
    const std::vector<Column> columns = columns_of(measurements);
    const Measured& last = measurements.back();
    plots::Page page;
    page.title = fmt::format(
        "{}{} of float32, {}: {}", over_ranks ? in_words(columns.back().size_bytes) + " " : "",
        last.collective.name,
        over_ranks ? "over the number of ranks" : fmt::format("{} ranks", last.machine.ranks),
        last.machine.mpi
    );
    for (const Column& column : columns) {
        page.ticks.push_back(
            {column.x, over_ranks ? fmt::format("{} ranks", column.measured->machine.ranks)
                                  : in_words(column.size_bytes)}
        );
    }
    if (const auto at = passes(measurements, columns.back().size_bytes)) {
        page.band = {at->low, at->x, at->high, "ring passes naive"};
    }
    page.panels.push_back(times(columns));
    if (measured(columns, &Row::vs_naive)) {
        page.panels.push_back(ratios(columns, &Row::vs_naive, "times as fast as naive"));
    } else if (measured(columns, &Row::vs_mpi)) {
        page.panels.push_back(ratios(columns, &Row::vs_mpi, "times as fast as MPI's own"));
    }
    return plots::script_of(page);
}

}  // namespace dist::lab
