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

std::optional<AlphaBeta> fit_alpha_beta(
    std::span<const double> sizes_bytes, std::span<const double> times_s
) {
    expects(sizes_bytes.size() == times_s.size(), "fit_alpha_beta: one time for each size");
    // weighted sums, the weight of a point being 1 / t^2
    double w = 0.0;
    double ws = 0.0;
    double wt = 0.0;
    double wss = 0.0;
    double wst = 0.0;
    double wtt = 0.0;
    for (std::size_t i = 0; i < times_s.size(); ++i) {
        const double s = sizes_bytes[i];
        const double t = times_s[i];
        const double weight = 1.0 / (t * t);
        w += weight;
        ws += weight * s;
        wt += weight * t;
        wss += weight * s * s;
        wst += weight * s * t;
        wtt += weight * t * t;
    }
    const double variance_s = w * wss - ws * ws;
    const double covariance = w * wst - ws * wt;
    const double variance_t = w * wtt - wt * wt;
    if (times_s.size() < 2 || variance_s <= 0.0 || covariance <= 0.0) {
        return std::nullopt;
    }
    const double seconds_per_byte = covariance / variance_s;
    const double alpha_s = (wt - seconds_per_byte * ws) / w;
    if (alpha_s < 0.0) {
        return std::nullopt;
    }
    return AlphaBeta{
        .alpha_s = alpha_s,
        .beta_bytes_per_s = 1.0 / seconds_per_byte,
        .r2 = covariance * covariance / (variance_s * variance_t)};
}

}  // namespace dist::lab
