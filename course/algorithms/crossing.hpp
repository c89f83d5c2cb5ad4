// From where on one of two times is the shorter: between the sizes, or numbers of ranks, that were tried.
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
    double error_s = 0;  // the standard error of that time
};

/// Where a time that was the shorter becomes the longer one.
struct Crossover {
    double x = 0;
    // for times that are off by their errors, one up and one down; where that lies outside, the end of what was tried
    double low = 0;
    double high = 0;
};

/// How far `a` is ahead of `b`, in logarithms; negative: a is the faster. `shift` counts errors, against each other.
inline double lead(const At& a, const At& b, double shift) {
    constexpr double kLeast = 1e-12;
    return std::log(std::max(a.seconds + shift * a.error_s, kLeast)) -
           std::log(std::max(b.seconds - shift * b.error_s, kLeast));
}

/// Where the lead changes its sign for the last time; the first or last x where it does not.
inline double last_change(const std::vector<At>& a, const std::vector<At>& b, double shift) {
    for (std::size_t i = std::min(a.size(), b.size()); i-- > 1;) {
        const double before = lead(a[i - 1], b[i - 1], shift);
        const double after = lead(a[i], b[i], shift);
        if (after <= 0) {
            return a[i].x;
        }
        if (before <= 0) {
            const double share = before / (before - after);
            return std::exp(std::log(a[i - 1].x) + share * std::log(a[i].x / a[i - 1].x));
        }
    }
    return a.front().x;
}

/// The last x after which `b` stays faster than `a`: straight lines on logarithmic axes between the points that both
/// have, ascending.
///
/// Returns  nothing if b is faster from the first, or is not at the last.
inline std::optional<Crossover> crossover(const std::vector<At>& a, const std::vector<At>& b) {
    const std::size_t n = std::min(a.size(), b.size());
    if (n == 0 || lead(a[n - 1], b[n - 1], 0) <= 0 || std::ranges::none_of(a, [&](const At& at) {
            const auto i = static_cast<std::size_t>(&at - a.data());
            return i < n && lead(at, b[i], 0) < 0;
        })) {
        return std::nullopt;
    }
    // with a later and b earlier, b passes a sooner
    return Crossover{last_change(a, b, 0), last_change(a, b, 1), last_change(a, b, -1)};
}

}  // namespace dist::lab
