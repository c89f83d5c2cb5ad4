#include "course/lab/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "course/algorithms/units.hpp"

namespace dist::lab {
namespace {

/// What two algorithms took, at the places where both were measured.
struct Pair {
    std::vector<At> a;
    std::vector<At> b;

    void add(
        double x,
        const Measured& measured,
        std::size_t size_bytes,
        const std::string& of_a,
        const std::string& of_b
    ) {
        const Point* const one = find(measured, size_bytes, of_a);
        const Point* const other = find(measured, size_bytes, of_b);
        if (one != nullptr && other != nullptr) {
            a.push_back({x, one->median_s, error_of_median(*one)});
            b.push_back({x, other->median_s, error_of_median(*other)});
        }
    }

  private:
    static const Point* find(
        const Measured& measured, std::size_t size_bytes, const std::string& algorithm
    ) {
        const auto found = std::ranges::find_if(measured.points, [&](const Point& point) {
            return point.size_bytes == size_bytes && point.algorithm == algorithm;
        });
        return found == measured.points.end() ? nullptr : &*found;
    }
};

Pair over_sizes(const Measured& measured, const std::string& a, const std::string& b) {
    Pair pair;
    for (const Point& point : measured.points) {
        if (point.algorithm == a) {
            pair.add(static_cast<double>(point.size_bytes), measured, point.size_bytes, a, b);
        }
    }
    return pair;
}

Pair over_ranks(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& a,
    const std::string& b
) {
    Pair pair;
    for (const Measured& measured : measurements) {
        if (measured.machine.ranks > 1) {  // one rank sends nothing: neither is the faster
            pair.add(measured.machine.ranks, measured, size_bytes, a, b);
        }
    }
    return pair;
}

std::string in_any_words(double bytes) {
    for (const auto& [unit, name] : {std::pair{0x1p20, "MiB"}, std::pair{0x1p10, "KiB"}}) {
        if (bytes >= unit) {
            return fmt::format("{:.3g} {}", bytes / unit, name);
        }
    }
    return fmt::format("{:.0f} B", bytes);
}

/// How a place is called.
struct Words {
    const char* each;
    const char* largest;
    std::string (*between)(double x);
    std::string (*measured)(double x);
};

std::string in_words_of(
    const Pair& pair, const std::string& a, const std::string& b, const Words& words
) {
    if (pair.a.size() < 2) {
        return "";
    }
    const auto at = crossover(pair.a, pair.b);
    if (!at) {
        const bool passed = pair.b.back().seconds < pair.a.back().seconds;
        const bool always = passed || pair.b.front().seconds >= pair.a.front().seconds;
        return always ? fmt::format("{} is faster at every {} measured", passed ? b : a, words.each)
                      : fmt::format("{} is faster at {}, {} at the smallest", a, words.largest, b);
    }
    std::size_t next = 1;
    while (next + 1 < pair.a.size() && pair.a[next].x < at->x) {
        ++next;
    }
    return fmt::format(
        "{} passes {} at {} (from {} to {} by the spread of the times; measured at {} and {})", b,
        a, words.between(at->x), words.between(at->low), words.between(at->high),
        words.measured(pair.a[next - 1].x), words.measured(pair.a[next].x)
    );
}

}  // namespace

double error_of_median(const Point& point) {
    constexpr double kOfMedian = 1.2533;  // times that of a mean
    constexpr double kTo95 = 1.645;  // standard deviations from the middle to the 95th percentile
    const double n = static_cast<double>(std::max(1L, point.clean > 0 ? point.clean : point.run));
    return kOfMedian * (point.p95_s - point.median_s) / kTo95 / std::sqrt(n);
}

std::optional<Crossover> crossover_of(
    const Measured& measured, const std::string& a, const std::string& b
) {
    const Pair pair = over_sizes(measured, a, b);
    return crossover(pair.a, pair.b);
}

std::optional<Crossover> crossover_of(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& a,
    const std::string& b
) {
    const Pair pair = over_ranks(measurements, size_bytes, a, b);
    return crossover(pair.a, pair.b);
}

std::string crossover_in_words(
    const Measured& measured, const std::string& a, const std::string& b
) {
    const auto in_size = [](double x) { return in_words(static_cast<std::size_t>(x)); };
    return in_words_of(
        over_sizes(measured, a, b), a, b, {"size", "the largest size", in_any_words, in_size}
    );
}

std::string crossover_in_words(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& a,
    const std::string& b
) {
    const auto ranks = [](double x) { return fmt::format("{:.3g} ranks", x); };
    return in_words_of(
        over_ranks(measurements, size_bytes, a, b), a, b,
        {"number of ranks", "the largest number of ranks", ranks, ranks}
    );
}

}  // namespace dist::lab
