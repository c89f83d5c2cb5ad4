// What the tests of trees and doublings share: who is in a sum, and how many steps there are.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Rank r's contribution to a sum that tells who is in it, and how often: 8^r, a digit of its own
/// in base 8. With at most 8 ranks all of it is exact in float.
inline std::vector<float> digit(std::size_t n, int rank) {
    return std::vector<float>(n, std::ldexp(1.0F, 3 * rank));
}

/// "the sum of ranks 0, 1, 3 (4 times)".
inline std::string whose(float sum, int p) {
    if (std::isnan(sum) || sum != std::floor(sum) || sum < 1 || sum >= std::ldexp(1.0F, 3 * p)) {
        return std::to_string(sum) + ", which is no sum of contributions";
    }
    std::string text;
    for (int rank = 0; rank < p; ++rank) {
        const int times = (static_cast<int>(sum) >> (3 * rank)) % 8;
        if (times > 0) {
            text += (text.empty() ? "the sum of ranks " : ", ") + std::to_string(rank);
        }
        if (times > 1) {
            text += " (" + std::to_string(times) + " times)";
        }
    }
    return text;
}

/// Whether every element of `data`, that began as digit(n, r), is the sum of `ranks`' digits.
inline Comparison sum_of(const std::set<int>& ranks, const std::vector<float>& data, int p) {
    float expected = 0;
    for (const int rank : ranks) {
        expected += digit(1, rank)[0];
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] != expected) {
            return {
                false, "index " + std::to_string(i) + ": got " + whose(data[i], p) +
                           "; expected the sum of ranks " + list(ranks)};
        }
    }
    return {};
}

/// Compares with the reduction over all ranks; for the mean, names a division too few or too many.
inline Comparison reduced(
    const std::vector<float>& data, ReduceOp op, const Communicator& comm, std::uint64_t salt = 0
) {
    const std::size_t n = data.size();
    const int p = comm.size();
    const auto known =
        n > 1000 ? std::vector<Suspicion>() : mean_suspicions(n, comm.rank(), p, op, salt);
    return same(data, reduced_input(n, p, op, salt), tolerance(op), known);
}

/// Numbers for which the order of addition shows: 2^24 + 1 is 2^24 in float, 2^24 + (1 + 1) is not.
inline std::vector<float> order_matters(std::size_t n, int rank) {
    return std::vector<float>(n, rank == 0 ? 0x1p24F : 1.0F);
}

/// Rank r ^ d for each distance d.
inline std::set<int> doubling_partners(int r, int p) {
    std::set<int> partners;
    for (int d = 1; d < p; d *= 2) {
        partners.insert(r ^ d);
    }
    return partners;
}

/// every_length, the large one for two p: it takes most of a test's time.
inline std::vector<std::size_t> most_lengths(int p) {
    auto lengths = every_length(p);
    if (p != 3 && p != 8) {
        lengths.pop_back();
    }
    return lengths;
}

/// q, the largest power of two that is at most p.
inline int floor_power(int p) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(p)));
}

/// log2 p, rounded down.
inline int floor_log(int p) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1;
}

/// log2 p, rounded up.
inline int ceil_log(int p) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}

}  // namespace dist::harness
