// Which of two algorithms is the faster, from which size, or number of ranks, on. Table, JSON and
// picture all say what stands here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "course/lab/measured.hpp"

namespace dist::lab {

/// The two that this course is about.
inline constexpr const char* kFirst = "naive";
inline constexpr const char* kSecond = "ring";

/// How `ring` stands to `naive`, say: the second algorithm of a pair to the first.
enum class Lead {
    behind,
    level,  // within what makes no difference: Margins
    ahead,
    undecided,  // the interval of their ratio leaves it open, or the times have not settled
};

/// "ahead"
const char* name_of(Lead lead);

/// What stands behind a ratio in a table: '?' undecided, '=' level, ' ' otherwise.
char mark_of(Lead lead);

/// A ratio beyond `lead` is a lead, one within `level` makes no difference. Between them is a gap: a ratio that
/// two runs find within 1 % of each other is not level in one and a lead in the other.
struct Margins {
    double lead;
    double level;
};
/// Where each rank has a core.
inline constexpr Margins kOwnCores{1.03, 1.02};
/// Where ranks share cores, nothing is level: from one start of the processes to the next their ratio differs by up
/// to 18 %, for minutes alike, and one run sees one start.
inline constexpr Margins kSharedCores{1.1, 1.0};

Margins margins_of(const Machine& machine);

/// "10 %"
std::string percent_of(double margin);

/// By the ratio of the first one's time to the second one's. The whole interval must lie beyond one
/// margin, or within the other.
Lead lead_of(const std::optional<Interval>& ratio, const Margins& margins = kOwnCores);

/// The lead at a size, or at a number of ranks.
struct Standing {
    double x = 0.0;
    Lead lead = Lead::undecided;
    std::optional<Interval> ratio = {};
    Margins margins = kOwnCores;
};

/// Between `low` and `high`, neighbours of those where the lead was decided, it changes.
struct Crossing {
    double low = 0.0;
    double high = 0.0;
    bool to_second = true;  // the second one is ahead from there on
};

/// What is known of a pair.
struct Verdict {
    std::string first;
    std::string second;
    std::vector<Standing> standings;  // ascending by x

    [[nodiscard]] std::vector<Crossing> crossings() const;

    /// "ring passes naive"
    [[nodiscard]] std::string words(const Crossing& crossing) const;
};

/// How this point's algorithm stands to `first` at its size.
Lead lead_at(const Measured& measured, const Point& point, const std::string& first);

/// Over the sizes of one measurement. No standings unless both were measured.
Verdict verdict_over_sizes(
    const Measured& measured, const std::string& first, const std::string& second
);

/// Over the numbers of ranks, at one size; one rank, which sends nothing, is left out.
Verdict verdict_over_ranks(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& first,
    const std::string& second
);

/// "ring passes naive between 19 KiB and 24 KiB", or who is the faster where; then where they are
/// level, and where it is undecided. Empty where there is no standing.
///
/// in_words  of a size: "19 KiB"
/// places    "size"
std::string in_words(
    const Verdict& verdict,
    const std::string& places,
    const std::function<std::string(double)>& in_words
);
std::string sizes_in_words(const Verdict& verdict);
std::string ranks_in_words(const Verdict& verdict);

/// What is likely where nothing is decided, a line for each size: "no verdict at 1 MiB, but likely: ring took 0.62 of naive's time, 0.45 to
/// 0.80 in half of the rounds; other programs took 30 % of the cores". How kSecond stands to kFirst.
std::vector<std::string> likely_in_words(const Measured& measured);

/// The size at which to measure next, so that a crossing lies between closer neighbours: the
/// middle, on a logarithmic scale, of the widest gap that has a decided end within a crossing.
/// Nothing once all of these are narrower than 1 : 1.25.
std::optional<std::size_t> next_size(const Verdict& verdict);

}  // namespace dist::lab
