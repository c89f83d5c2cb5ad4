// What the tests of the rings share: lengths, sets of ranks in words, and what part of the ranks
// gives.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/reductions.hpp"

namespace dist::harness {

/// lengths(), by its old name.
inline std::vector<std::size_t> every_length(int p) {
    return lengths(p);
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
