#include "course/lab/measured.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "course/algorithms/operations.hpp"
#include "course/algorithms/units.hpp"

namespace dist::lab {

std::string redop(const Measured& measured) {
    if (!combines(measured.collective)) {
        return "none";
    }
    return measured.op == ReduceOp::product ? "prod"
           : measured.op == ReduceOp::mean  ? "avg"
                                            : name(measured.op);
}

std::set<std::size_t> sizes_of(const Measured& measured) {
    std::set<std::size_t> sizes;
    for (const Point& point : measured.points) {
        sizes.insert(point.size_bytes);
    }
    return sizes;
}

std::set<std::size_t> common_sizes(const std::vector<Measured>& measurements) {
    std::set<std::size_t> common = sizes_of(measurements.front());
    for (const Measured& measured : measurements) {
        const std::set<std::size_t> here = sizes_of(measured);
        std::erase_if(common, [&](std::size_t size) { return !here.contains(size); });
    }
    return common;
}

namespace {

Means means_of(const Measured& measured, const std::string& algorithm) {
    return std::ranges::find(measured.algorithms, algorithm, &Algorithm::name)->means;
}

}  // namespace

LowerBound learned_bound(const Measured& measured) {
    LowerBound bound = measured.bound;
    for (const Point& point : measured.points) {
        bound.learn(point.size_bytes, means_of(measured, point.algorithm), point.min_s);
    }
    return bound;
}

std::vector<Row> rows(const Measured& measured) {
    const LowerBound bound = learned_bound(measured);
    std::vector<Row> rows;
    for (const Point& point : measured.points) {
        Row row{.point = point, .efficiency = {}};
        row.algbw_gbs = static_cast<double>(point.size_bytes) / point.median_s / 1e9;
        row.busbw_gbs = row.algbw_gbs * measured.collective.bus_factor(measured.machine.ranks);
        row.bound_s = bound.seconds(point.size_bytes, means_of(measured, point.algorithm));
        if (row.bound_s > 0.0) {
            row.efficiency = row.bound_s / point.median_s;
        }
        rows.push_back(row);
    }
    return rows;
}

std::vector<std::pair<std::string, Fit>> fits(const Measured& measured) {
    std::vector<std::pair<std::string, Fit>> lines;
    for (const Algorithm& algorithm : measured.algorithms) {
        std::vector<Measurement> medians;
        for (const Point& point : measured.points) {
            if (point.algorithm == algorithm.name) {
                medians.push_back({point.size_bytes, point.median_s});
            }
        }
        lines.emplace_back(algorithm.name, fit_line(medians));
    }
    return lines;
}

std::vector<std::string> unsettled_in_words(const Measured& measured) {
    std::vector<std::string> lines;
    for (const std::size_t size : sizes_of(measured)) {
        std::vector<std::string> names;
        std::vector<std::string> reasons;
        for (const Point& point : measured.points) {
            if (point.size_bytes == size) {
                names.push_back(point.algorithm);
                reasons.push_back(point.unsettled);
            }
        }
        for (const std::string& line : unsettled_in_words(names, reasons)) {
            lines.push_back(fmt::format("{}, not settled: {}", in_words(size), line));
        }
    }
    return lines;
}

std::string note_if_shared(const std::vector<Measured>& measurements) {
    std::vector<int> shared;
    for (const Measured& measured : measurements) {
        if (measured.machine.oversubscribed()) {
            shared.push_back(measured.machine.ranks);
        }
    }
    return shared.empty()
               ? ""
               : fmt::format(
                     "{} ranks share {} cores, so times also show how ranks take turns; to "
                     "compare the algorithms alone, give each rank a core, or simulate",
                     fmt::join(shared, " and "), measurements.back().machine.cores
                 );
}

}  // namespace dist::lab
