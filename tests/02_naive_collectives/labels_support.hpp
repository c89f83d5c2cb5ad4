// Inputs whose elements tell where they come from: for collectives that move data and leave it as
// it is.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

// exact in float for 16 ranks and two calls of half a million elements each
constexpr std::size_t kPerRank = 1'000'000;
constexpr std::size_t kPerCall = 500'000;

/// Elements [begin, end) of rank `rank`'s input to call number `call` (0 or 1).
inline std::vector<float> labels(std::size_t begin, std::size_t end, int rank, int call = 0) {
    std::vector<float> data;
    for (std::size_t i = begin; i < end; ++i) {
        const std::size_t calls = static_cast<std::size_t>(call) * kPerCall;
        data.push_back(static_cast<float>(static_cast<std::size_t>(rank) * kPerRank + calls + i));
    }
    return data;
}

/// The whole input of `rank`: n elements.
inline std::vector<float> labels(std::size_t n, int rank, int call = 0) {
    return labels(0, n, rank, call);
}

/// "element 3 of rank 2's in", with the call where it is not the first.
inline std::string label_text(float value) {
    const auto number = static_cast<std::size_t>(value);
    const std::size_t in_rank = number % kPerRank;
    return "element " + std::to_string(in_rank % kPerCall) + " of rank " +
           std::to_string(number / kPerRank) + "'s in" +
           (in_rank >= kPerCall ? " (of the second call)" : "");
}

/// same(), with the place that a wrong value comes from, and the one that was wanted.
inline Comparison same_labels(std::span<const float> got, std::span<const float> expected) {
    Comparison comparison = same(got, expected);
    if (comparison || got.size() != expected.size()) {
        return comparison;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] != expected[i]) {
            comparison.text += ": " + label_text(expected[i]) + " belongs here";
            if (!std::isnan(got[i]) && got[i] >= 0 && got[i] == std::floor(got[i])) {
                comparison.text += ", and this is " + label_text(got[i]);
            }
            return comparison;
        }
    }
    return comparison;
}

}  // namespace dist::harness
