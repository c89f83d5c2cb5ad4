#include "course/lab/measured.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dist::lab {

std::set<std::size_t> sizes_of(const Measured& measured) {
    std::set<std::size_t> sizes;
    for (const Point& point : measured.points) {
        sizes.insert(point.size_bytes);
    }
    return sizes;
}

std::vector<Row> rows(const Measured& measured) {
    const auto median_of = [&](const std::string& algorithm, std::size_t size_bytes) {
        const auto found =
            std::find_if(measured.points.begin(), measured.points.end(), [&](const Point& point) {
                return point.algorithm == algorithm && point.size_bytes == size_bytes;
            });
        return found == measured.points.end() ? std::nullopt : std::optional(found->median_s);
    };
    const auto means_of = [&](const std::string& name) {
        return std::ranges::find(measured.algorithms, name, &Algorithm::name)->means;
    };
    std::vector<Row> rows;
    for (const Point& point : measured.points) {
        Row row{.point = point, .vs_naive = {}, .vs_mpi = {}, .efficiency = {}};
        row.algbw_gbs = static_cast<double>(point.size_bytes) / point.median_s / 1e9;
        row.busbw_gbs = row.algbw_gbs * measured.collective.bus_factor(measured.machine.ranks);
        if (const auto naive_s = median_of("naive", point.size_bytes)) {
            row.vs_naive = *naive_s / point.median_s;
        }
        if (const auto mpi_s = median_of("mpi", point.size_bytes)) {
            row.vs_mpi = *mpi_s / point.median_s;
        }
        row.bound_s = measured.bound.seconds(point.size_bytes, means_of(point.algorithm));
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

std::string note_if_busy(const std::vector<Point>& points) {
    constexpr double kBusy = 0.2;
    long run = 0;
    long clean = 0;
    for (const Point& point : points) {
        run += point.run;
        clean += point.clean;
    }
    const double disturbed =
        run == 0 ? 0.0 : 1 - static_cast<double>(clean) / static_cast<double>(run);
    return disturbed < kBusy ? ""
                             : fmt::format(
                                   "the machine was busy: {:.0f} % of all iterations were "
                                   "disturbed, so ratios may be "
                                   "off; repeat on a quiet one, or with fewer ranks",
                                   disturbed * 100
                               );
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
