#include "course/lab/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <limits>
#include <map>

#include "course/lab/statistics.hpp"

namespace dist::lab {
namespace {

constexpr double kSure = 0.99;
constexpr double kQuiteSure = 0.95;
constexpr std::size_t kFewestBlocks = 8;
constexpr double kSpread = 0.1;

/// The k-th value from either end encloses the median, unless less than k of n values lie on one side of it. Each side
/// is as likely as heads: twice the sum over i < k of (n over i) / 2^n.
std::size_t values_outside(std::size_t n, double confidence) {
    double probability = std::pow(0.5, static_cast<double>(n));  // of exactly i values below
    double outside = 0.0;
    std::size_t k = 0;
    while (k < n) {
        outside += 2 * probability;
        if (outside > 1 - confidence) {
            break;
        }
        probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        ++k;
    }
    return k;
}

/// The median of `value(round)` in each quiet block, over the rounds where it has one.
template <class Value>
std::vector<double> medians(const std::vector<Block>& blocks, Value value) {
    std::vector<double> all;
    for (const Block& block : blocks) {
        std::vector<double> here;
        for (const std::vector<Timing>& round : block.rounds) {
            if (const std::optional<double> one = value(round)) {
                here.push_back(*one);
            }
        }
        if (block.quiet() && !here.empty()) {
            all.push_back(median(here));
        }
    }
    return all;
}

double ratio_in(const std::vector<Timing>& round, std::size_t a, std::size_t b) {
    return round[a].max_s / round[b].max_s;
}

/// The median ratio of a's time to b's in each quiet block, over the rounds where neither was disturbed.
std::vector<double> block_ratios(const std::vector<Block>& blocks, std::size_t a, std::size_t b) {
    return medians(blocks, [&](const std::vector<Timing>& round) {
        const bool disturbed = round[a].disturbed || round[b].disturbed;
        return disturbed ? std::nullopt : std::optional(ratio_in(round, a, b));
    });
}

std::vector<double> all_ratios(const std::vector<Block>& blocks, std::size_t a, std::size_t b) {
    std::vector<double> all;
    for (const Block& block : blocks) {
        std::ranges::transform(
            block.rounds, std::back_inserter(all),
            [&](const std::vector<Timing>& round) { return ratio_in(round, a, b); }
        );
    }
    return all;
}

/// How far the last third of `values` is from the first, by their medians.
double drift(const std::vector<double>& values) {
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    return median({values.end() - third, values.end()}) /
               median({values.begin(), values.begin() + third}) -
           1;
}

/// "9 of 30 blocks of time were quiet; others took 45 % of the cores"
std::string too_few(const std::vector<Block>& blocks, std::size_t usable) {
    std::vector<double> others;
    for (const Block& block : blocks) {
        if (!block.quiet()) {
            others.push_back(block.others);
        }
    }
    if (others.empty()) {
        return fmt::format(
            "{} of {} blocks of time had an undisturbed call", usable, blocks.size()
        );
    }
    return fmt::format(
        "{} of {} blocks of time were quiet; in the others, other work took {:.0f} % of the cores",
        usable, blocks.size(), 100 * median(others)
    );
}

}  // namespace

std::optional<Interval> median_interval(std::vector<double> values, double confidence) {
    const std::size_t k = values_outside(values.size(), confidence);
    if (k == 0) {
        return std::nullopt;
    }
    std::ranges::sort(values);
    return Interval{median(values), values[k - 1], values[values.size() - k]};
}

std::vector<double> block_medians(const std::vector<Block>& blocks, std::size_t algorithm) {
    return medians(blocks, [&](const std::vector<Timing>& round) {
        const Timing& call = round[algorithm];
        return call.disturbed ? std::nullopt : std::optional(call.max_s);
    });
}

Interval ratio_of(const std::vector<Block>& blocks, std::size_t a, std::size_t b) {
    if (const auto interval = median_interval(block_ratios(blocks, a, b), kSure)) {
        return *interval;
    }
    return {median(all_ratios(blocks, a, b)), 0.0, std::numeric_limits<double>::infinity()};
}

Interval half_of_rounds(const std::vector<Block>& blocks, std::size_t a, std::size_t b) {
    const std::vector<double> all = all_ratios(blocks, a, b);
    return {median(all), quantile(all, 0.25), quantile(all, 0.75)};
}

double others_took(const std::vector<Block>& blocks) {
    std::vector<double> shares(blocks.size());
    std::ranges::transform(blocks, shares.begin(), &Block::others);
    return median(shares);
}

std::string why_unsettled(const std::vector<Block>& blocks, std::size_t algorithm) {
    const std::vector<double> times = block_medians(blocks, algorithm);
    if (times.size() < kFewestBlocks) {
        return too_few(blocks, times.size());
    }
    const Interval interval = *median_interval(times, kQuiteSure);
    if (interval.high > interval.value * (1 + kSpread) ||
        interval.low < interval.value / (1 + kSpread)) {
        return fmt::format(
            "the median lies {:.0f} % below to {:.0f} % above the value shown",
            100 * (1 - interval.low / interval.value), 100 * (interval.high / interval.value - 1)
        );
    }
    const double change = drift(times);
    if (std::abs(change) > kSpread) {
        return fmt::format(
            "times {} by {:.0f} % meanwhile", change > 0 ? "rose" : "fell", 100 * std::abs(change)
        );
    }
    return "";
}

bool all_settled(const std::vector<Block>& blocks) {
    const std::size_t algorithms = blocks.empty() ? 0 : blocks.front().rounds.front().size();
    for (std::size_t a = 0; a < algorithms; ++a) {
        if (!why_unsettled(blocks, a).empty()) {
            return false;
        }
        for (std::size_t b = 0; b < a; ++b) {
            if (block_ratios(blocks, a, b).size() < kFewestBlocks) {
                return false;
            }
        }
    }
    return algorithms > 0;
}

std::vector<std::string> unsettled_in_words(
    const std::vector<std::string>& names, const std::vector<std::string>& reasons
) {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (std::size_t i = 0; i < names.size(); ++i) {
        by_reason[reasons[i]].push_back(names[i]);
    }
    by_reason.erase("");
    std::vector<std::string> lines;
    lines.reserve(by_reason.size());
    for (const auto& [reason, those] : by_reason) {
        lines.push_back(fmt::format("{}: {}", fmt::join(those, ", "), reason));
    }
    return lines;
}

}  // namespace dist::lab
