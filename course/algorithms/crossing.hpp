// From where on one of two exact times is the shorter: between the sizes, or numbers of ranks, that were simulated.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace dist::lab {

/// A time at a size, or at a number of ranks.
struct At {
    double x = 0;
    double seconds = 0;
};

/// Where a time that was the shorter becomes the longer one.
struct Crossover {
    double x = 0;
};

/// How far `b` is ahead of `a`, in logarithms; negative: a is the faster.
inline double lead(const At& a, const At& b) {
    constexpr double kLeast = 1e-12;
    return std::log(std::max(a.seconds, kLeast)) - std::log(std::max(b.seconds, kLeast));
}

/// The last x after which `b` stays faster than `a`: straight lines on logarithmic axes between the points that both
/// have, ascending.
///
/// Returns  nothing if b is faster from the first, or is not at the last.
inline std::optional<Crossover> crossover(const std::vector<At>& a, const std::vector<At>& b) {
    const std::size_t n = std::min(a.size(), b.size());
    if (n == 0 || lead(a[n - 1], b[n - 1]) <= 0) {
        return std::nullopt;
    }
    for (std::size_t i = n - 1; i > 0; --i) {
        const double before = lead(a[i - 1], b[i - 1]);
        const double after = lead(a[i], b[i]);
        if (before < 0) {
            const double share = before / (before - after);
            return Crossover{
                std::exp(std::log(a[i - 1].x) + share * std::log(a[i].x / a[i - 1].x))};
        }
    }
    return std::nullopt;
}

}  // namespace dist::lab
