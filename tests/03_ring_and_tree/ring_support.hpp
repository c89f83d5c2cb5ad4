// What the tests of the rings share: lengths, sets of ranks in words, and what part of the ranks
// gives.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Around every edge of "p chunks": a telling one first, then nothing, less than one element a
/// rank, even, uneven, large.
inline std::vector<std::size_t> every_length(int p) {
    const auto ranks = static_cast<std::size_t>(p);
    return {7, 0, 1, ranks - 1, ranks, ranks + 1, 1000, 300'000};
}

inline long ceil_div(std::size_t n, int p) {
    return (static_cast<long>(n) + p - 1) / p;
}

/// "0, 2", or "nobody".
inline std::string list(const std::set<int>& ranks) {
    std::string text;
    for (const int rank : ranks) {
        text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return text.empty() ? "nobody" : text;
}

/// The `k` ranks from `first` on, around the circle.
inline std::set<int> arc(int p, int first, int k) {
    std::set<int> ranks;
    for (int i = 0; i < k; ++i) {
        ranks.insert((first + i) % p);
    }
    return ranks;
}

/// "rank 1 alone", "ranks 0, 1 alone".
inline std::string alone(const std::set<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + list(ranks) + " alone";
}

/// What the inputs of `ranks` combine to; the mean is not divided.
inline std::vector<float> partial(
    std::size_t n, const std::set<int>& ranks, ReduceOp op, std::uint64_t salt
) {
    std::vector<float> total = input(n, *ranks.begin(), salt);
    for (auto rank = std::next(ranks.begin()); rank != ranks.end(); ++rank) {
        dist::accumulate(input(n, *rank, salt), total, op);
    }
    return total;
}

/// A mean that is divided after every addition, on its way from rank last + 1 to rank last.
inline std::vector<float> divided_in_every_step(
    std::size_t n, int last, int p, std::uint64_t salt
) {
    auto travelling = input(n, (last + 1) % p, salt);
    for (int i = 2; i <= p; ++i) {
        dist::accumulate(input(n, (last + i) % p, salt), travelling, ReduceOp::sum);
        scale(travelling, 1.0F / static_cast<float>(p));
    }
    return travelling;
}

/// What misplaced divisions leave of a mean that is finished on rank `last`; nothing for other
/// operations.
inline std::vector<Suspicion> mean_suspicions(
    std::size_t n, int last, int p, ReduceOp op, std::uint64_t salt
) {
    if (op != ReduceOp::mean) {
        return {};
    }
    auto twice = reduced_input(n, p, op, salt);
    scale(twice, 1.0F / static_cast<float>(p));
    return {
        {std::vector<float>(n, 0.0F), "1 / p is 0 in whole numbers: divide as float"},
        {reduced_input(n, p, ReduceOp::sum, salt),
         "that is the sum: the mean is the sum divided by p"},
        {twice, "that was divided by p twice: once is right, in one place"},
        {divided_in_every_step(n, last, p, salt),
         "that was divided in every step: the mean divides once, when all of the sum is there"}};
}

/// Whole numbers are exact, but for the mean: divided first, it is rounded p + 1 <= 6 times.
inline double tolerance(ReduceOp op) {
    return op == ReduceOp::mean ? 6 * 6e-8 : 0.0;
}

}  // namespace dist::harness
