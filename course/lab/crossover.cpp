#include "course/lab/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "course/lab/units.hpp"

namespace dist::lab {
namespace {

std::vector<At> times_of(const Report& report, const std::string& algorithm) {
    std::vector<At> times;
    for (const Point& point : report.points) {
        if (point.algorithm == algorithm) {
            times.push_back(
                {static_cast<double>(point.size_bytes), point.median_s, error_of_median(point)}
            );
        }
    }
    return times;
}

std::string in_any_words(double bytes) {
    for (const auto& [unit, name] : {std::pair{0x1p20, "MiB"}, std::pair{0x1p10, "KiB"}}) {
        if (bytes >= unit) {
            return fmt::format("{:.3g} {}", bytes / unit, name);
        }
    }
    return fmt::format("{:.0f} B", bytes);
}

}  // namespace

double error_of_median(const Point& point) {
    constexpr double kOfMedian = 1.2533;  // times that of a mean
    constexpr double kTo95 = 1.645;  // standard deviations from the middle to the 95th percentile
    const double n = static_cast<double>(std::max(1L, point.clean > 0 ? point.clean : point.run));
    return kOfMedian * (point.p95_s - point.median_s) / kTo95 / std::sqrt(n);
}

std::optional<Crossover> crossover_of(
    const Report& report, const std::string& a, const std::string& b
) {
    return crossover(times_of(report, a), times_of(report, b));
}

std::string crossover_in_words(const Report& report, const std::string& a, const std::string& b) {
    const std::vector<At> of_a = times_of(report, a);
    const std::vector<At> of_b = times_of(report, b);
    if (of_a.size() < 2 || of_a.size() != of_b.size()) {
        return "";
    }
    const auto at = crossover(of_a, of_b);
    if (!at) {
        const bool passed = of_b.back().seconds < of_a.back().seconds;
        const bool always = passed || of_b.front().seconds >= of_a.front().seconds;
        return always
                   ? fmt::format("{} is the faster at every size measured", passed ? b : a)
                   : fmt::format("{} is the faster at the largest size, {} at the smallest", a, b);
    }
    std::size_t next = 1;
    while (next + 1 < of_a.size() && of_a[next].x < at->x) {
        ++next;
    }
    return fmt::format(
        "{} passes {} at {} (from {} to {} by the spread of the times; measured at {} and {})", b,
        a, in_any_words(at->x), in_any_words(at->low), in_any_words(at->high),
        in_words(static_cast<std::size_t>(of_a[next - 1].x)),
        in_words(static_cast<std::size_t>(of_a[next].x))
    );
}

}  // namespace dist::lab
