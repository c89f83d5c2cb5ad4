#include "course/lab/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

#include "course/algorithms/units.hpp"

namespace dist::lab {
namespace {

constexpr double kNarrow = 1.25;

bool decided(const Standing& standing) {
    return standing.lead == Lead::ahead || standing.lead == Lead::behind;
}

const Point* find(const Measured& measured, std::size_t size_bytes, const std::string& algorithm) {
    const auto found = std::ranges::find_if(measured.points, [&](const Point& point) {
        return point.size_bytes == size_bytes && point.algorithm == algorithm;
    });
    return found == measured.points.end() ? nullptr : &*found;
}

/// The ratio of the first one's time to the second one's; nothing if one of them has not settled.
std::optional<Interval> ratio_at(const Point& first, const Point& second) {
    const bool settled = first.unsettled.empty() && second.unsettled.empty();
    if (!settled) {
        return std::nullopt;
    }
    return first.algorithm == "mpi" ? second.vs_mpi : second.vs_naive;
}

/// Adds what is known at x, if both were measured.
void add(Verdict& verdict, double x, const Measured& measured, std::size_t size_bytes) {
    const Point* const first = find(measured, size_bytes, verdict.first);
    const Point* const second = find(measured, size_bytes, verdict.second);
    if (first != nullptr && second != nullptr) {
        const std::optional<Interval> ratio = ratio_at(*first, *second);
        const Margins margins = margins_of(measured.machine);
        verdict.standings.push_back({x, lead_of(ratio, margins), ratio, margins});
    }
}

/// To a multiple of the largest power of two that is at most a sixteenth, and whole floats: easier to read.
double rounded(double bytes) {
    const double step = std::max(4.0, std::exp2(std::floor(std::log2(bytes)) - 4));
    return std::round(bytes / step) * step;
}

bool inside_any(double x, const std::vector<Crossing>& crossings) {
    return std::ranges::any_of(crossings, [&](const Crossing& one) {
        return one.low < x && x < one.high;
    });
}

}  // namespace

const char* name_of(Lead lead) {
    switch (lead) {
        case Lead::behind:
            return "behind";
        case Lead::level:
            return "level";
        case Lead::ahead:
            return "ahead";
        case Lead::undecided:
            break;
    }
    return "undecided";
}

char mark_of(Lead lead) {
    return lead == Lead::undecided ? '?' : lead == Lead::level ? '=' : ' ';
}

Margins margins_of(const Machine& machine) {
    return machine.oversubscribed() ? kSharedCores : kOwnCores;
}

std::string percent_of(double margin) {
    return fmt::format("{:.0f} %", 100 * (margin - 1));
}

Lead lead_of(const std::optional<Interval>& ratio, const Margins& margins) {
    if (!ratio) {
        return Lead::undecided;
    }
    if (ratio->low > margins.lead) {
        return Lead::ahead;
    }
    if (ratio->high < 1 / margins.lead) {
        return Lead::behind;
    }
    return ratio->low > 1 / margins.level && ratio->high < margins.level ? Lead::level
                                                                         : Lead::undecided;
}

std::vector<Crossing> Verdict::crossings() const {
    std::vector<Crossing> all;
    const Standing* before = nullptr;
    for (const Standing& standing : standings) {
        if (!decided(standing)) {
            continue;
        }
        if (before != nullptr && before->lead != standing.lead) {
            all.push_back({before->x, standing.x, standing.lead == Lead::ahead});
        }
        before = &standing;
    }
    return all;
}

Lead lead_at(const Measured& measured, const Point& point, const std::string& first) {
    const Point* const other = find(measured, point.size_bytes, first);
    return other == nullptr ? Lead::undecided
                            : lead_of(ratio_at(*other, point), margins_of(measured.machine));
}

std::string Verdict::words(const Crossing& crossing) const {
    const auto& [from_here, before] =
        crossing.to_second ? std::tie(second, first) : std::tie(first, second);
    return fmt::format("{} passes {}", from_here, before);
}

Verdict verdict_over_sizes(
    const Measured& measured, const std::string& first, const std::string& second
) {
    Verdict verdict{first, second, {}};
    for (const std::size_t size : sizes_of(measured)) {
        add(verdict, static_cast<double>(size), measured, size);
    }
    return verdict;
}

Verdict verdict_over_ranks(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& first,
    const std::string& second
) {
    Verdict verdict{first, second, {}};
    for (const Measured& measured : measurements) {
        if (measured.machine.ranks > 1) {
            add(verdict, measured.machine.ranks, measured, size_bytes);
        }
    }
    return verdict;
}

std::string in_words(
    const Verdict& verdict,
    const std::string& places,
    const std::function<std::string(double)>& in_words
) {
    const std::vector<Crossing> crossings = verdict.crossings();
    const auto at = [&](Lead lead) {
        std::vector<std::string> all;
        for (const Standing& standing : verdict.standings) {
            if (standing.lead == lead && !inside_any(standing.x, crossings)) {
                all.push_back(in_words(standing.x));
            }
        }
        return all;
    };
    const auto where = [&](const std::vector<std::string>& here) {
        return here.size() == verdict.standings.size() ? fmt::format("every {} measured", places)
                                                       : fmt::format("{}", fmt::join(here, ", "));
    };
    std::vector<std::string> parts;
    parts.reserve(crossings.size() + 4);
    for (const Crossing& crossing : crossings) {
        parts.push_back(fmt::format(
            "{} between {} and {}", verdict.words(crossing), in_words(crossing.low),
            in_words(crossing.high)
        ));
    }
    for (const Lead lead : {Lead::behind, Lead::ahead}) {
        if (const auto here = at(lead); crossings.empty() && !here.empty()) {
            parts.push_back(fmt::format(
                "{} is faster at {}", lead == Lead::ahead ? verdict.second : verdict.first,
                where(here)
            ));
        }
    }
    if (const auto here = at(Lead::level); !here.empty()) {
        parts.push_back(fmt::format(
            "{} and {} are within {} at {}", verdict.first, verdict.second,
            percent_of(kOwnCores.level), where(here)
        ));
    }
    if (const auto here = at(Lead::undecided); !here.empty()) {
        parts.push_back(fmt::format("undecided at {}", where(here)));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string sizes_in_words(const Verdict& verdict) {
    return in_words(verdict, "size", [](double x) {
        return lab::in_words(static_cast<std::size_t>(x));
    });
}

std::string ranks_in_words(const Verdict& verdict) {
    return in_words(verdict, "number of ranks", [](double x) {
        return fmt::format("{:.0f} ranks", x);
    });
}

std::vector<std::string> likely_in_words(const Measured& measured) {
    constexpr double kOthersCount = 0.05;
    std::vector<std::string> lines;
    bool others = false;
    for (const Standing& standing : verdict_over_sizes(measured, kFirst, kSecond).standings) {
        const Point& ring = *find(measured, static_cast<std::size_t>(standing.x), kSecond);
        if (standing.lead != Lead::undecided || !ring.rounds_vs_naive) {
            continue;
        }
        const Interval& ratio = *ring.rounds_vs_naive;  // naive's time over the ring's
        const char* const how = ratio.low > 1    ? "the ring is faster"
                                : ratio.high < 1 ? "naive is faster"
                                                 : "they are alike, as far as one can see";
        lines.push_back(fmt::format(
            "no verdict at {}, but likely {}: {} took {:.2f} of {}'s time, {:.2f} to {:.2f} in "
            "half of the "
            "rounds{}",
            lab::in_words(ring.size_bytes), how, kSecond, 1 / ratio.value, kFirst, 1 / ratio.high,
            1 / ratio.low,
            ring.others > kOthersCount
                ? fmt::format("; other programs took {:.0f} % of the cores", 100 * ring.others)
                : ""
        ));
        others = others || ring.others > kOthersCount;
    }
    if (others) {
        lines.emplace_back("for a verdict run it again when the other programs rest");
    }
    return lines;
}

std::optional<std::size_t> next_size(const Verdict& verdict) {
    const std::vector<Crossing> crossings = verdict.crossings();
    double widest = kNarrow;
    std::optional<std::size_t> next;
    for (std::size_t i = 1; i < verdict.standings.size(); ++i) {
        const Standing& left = verdict.standings[i - 1];
        const Standing& right = verdict.standings[i];
        const bool within = std::ranges::any_of(crossings, [&](const Crossing& one) {
            return one.low <= left.x && right.x <= one.high;
        });
        const double middle = rounded(std::sqrt(left.x * right.x));
        if (within && (decided(left) || decided(right)) && right.x / left.x > widest &&
            left.x < middle && middle < right.x) {
            widest = right.x / left.x;
            next = static_cast<std::size_t>(middle);
        }
    }
    return next;
}

}  // namespace dist::lab
