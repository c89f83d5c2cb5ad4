// What was timed, and what blocks of time say of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dist::lab {

/// One call on all ranks: seconds of the fastest rank, their mean, and the slowest.
struct Timing {
    double min_s = 0.0;
    double mean_s = 0.0;
    double max_s = 0.0;
    bool disturbed = false;  // the kernel took the core away from a rank meanwhile
};

/// A stretch of time in which all algorithms were called in turn.
struct Block {
    std::vector<std::vector<Timing>>
        rounds;           // each: a call of every algorithm, in the order of the algorithms
    double others = 0.0;  // share of the ranks' cores that others took meanwhile

    /// Others took so little that the times are the algorithms' own.
    [[nodiscard]] bool quiet() const { return others <= 0.05; }
};

/// A value, and the two between which the true one lies with some confidence.
struct Interval {
    double value = 0.0;
    double low = 0.0;
    double high = 0.0;
};

/// The median of `values`, and two of them that enclose the true median with at least this
/// confidence: by order statistics, whatever the distribution is. (J.-Y. Le Boudec, Performance
/// Evaluation of Computer and Communication Systems, 2010, theorem 2.1.)
///
/// Returns  nothing where there are too few: 99 % takes 8 values, 95 % takes 6.
std::optional<Interval> median_interval(std::vector<double> values, double confidence);

/// The median seconds of one algorithm in each quiet block. A call that was disturbed does not
/// count.
std::vector<double> block_medians(const std::vector<Block>& blocks, std::size_t algorithm);

/// How many times as long `a` takes as `b`: the median ratio of the same round in each quiet block,
/// and 99 % of confidence. What slows the machine down for a while slows both calls of a round:
/// their ratio keeps out of it.
///
/// Returns  0 to infinity, around the median over all blocks, where there are less than 8 quiet
/// ones.
Interval ratio_of(const std::vector<Block>& blocks, std::size_t a, std::size_t b);

/// The middle half of the ratios of a's time to b's in the same round, of all rounds: what can be said where the blocks were not
/// quiet. It is no interval of confidence.
Interval half_of_rounds(const std::vector<Block>& blocks, std::size_t a, std::size_t b);

/// The share of the ranks' cores that others took, in the median block.
double others_took(const std::vector<Block>& blocks);

/// Why the times of one algorithm are not to be trusted, in words; empty once they are: when at
/// least 8 blocks were quiet, their medians enclose the true one within 10 %, and the first third
/// of them is within 10 % of the last.
std::string why_unsettled(const std::vector<Block>& blocks, std::size_t algorithm);

/// Whether the times of all algorithms have settled, and each two of them were undisturbed in the same
/// round often enough for an interval of their ratio.
bool all_settled(const std::vector<Block>& blocks);

/// "naive, ring: times rose by 12 % meanwhile": a line for those that have the same reason.
///
/// reasons  of each name, why_unsettled's; the settled ones are left out.
std::vector<std::string> unsettled_in_words(
    const std::vector<std::string>& names, const std::vector<std::string>& reasons
);

}  // namespace dist::lab
