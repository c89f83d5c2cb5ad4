#include "course/lab/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "course/runtime/error.hpp"

namespace dist::lab {

double quantile(std::vector<double> values, double q) {
    expects(!values.empty(), "quantile: there must be at least one value");
    expects(0.0 <= q && q <= 1.0, "quantile: q must be in [0, 1]");
    std::sort(values.begin(), values.end());
    const double position = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

double median(const std::vector<double>& values) {
    return quantile(values, 0.5);
}

Fit fit_line(const std::vector<Measurement>& points) {
    const auto other_size = [&](const Measurement& m) { return m.bytes != points[0].bytes; };
    if (std::ranges::none_of(points, other_size)) {
        return {.line = {}, .why_none = "it takes two sizes"};
    }
    const LinkCost cost = fit(points);
    if (cost.beta_s_per_byte < 0.0) {
        return {.line = {}, .why_none = "the times fall while the sizes grow"};
    }
    if (cost.beta_s_per_byte == 0.0) {
        return {.line = {}, .why_none = "the times are the same for all sizes"};
    }
    if (cost.alpha_s < 0.0) {
        return {.line = {}, .why_none = "the times grow faster than the sizes"};
    }
    // weights 1 / t^2: a time relative to itself is 1, and their mean is nearest to all of them
    double weights = 0.0;
    double sum = 0.0;
    double unexplained = 0.0;
    for (const auto& [bytes, seconds] : points) {
        const double line_s = cost.alpha_s + cost.beta_s_per_byte * static_cast<double>(bytes);
        const double error = line_s / seconds - 1.0;
        unexplained += error * error;
        weights += 1.0 / (seconds * seconds);
        sum += 1.0 / seconds;
    }
    const double variance = static_cast<double>(points.size()) - sum * sum / weights;
    return {.line = Line{.cost = cost, .r2 = 1.0 - unexplained / variance}, .why_none = {}};
}

}  // namespace dist::lab
