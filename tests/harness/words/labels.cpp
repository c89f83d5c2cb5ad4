#include "tests/harness/words/labels.hpp"

#include <cmath>

namespace dist::harness {
namespace {

constexpr std::size_t kPerRank = 1'000'000;
constexpr std::size_t kPerCall = 330'000;

/// Where a label comes from.
struct Origin {
    std::size_t rank = 0;
    std::size_t call = 0;
    std::size_t element = 0;
};

Origin origin_of(float value) {
    const auto number = static_cast<std::size_t>(value);
    const std::size_t in_rank = number % kPerRank;
    return {number / kPerRank, in_rank / kPerCall, in_rank % kPerCall};
}

/// Where an element comes from that stands in the place of `expected`.
std::string misplaced(float value, float expected) {
    if (std::isnan(value) || value < 0 || value != std::floor(value)) {
        return "";
    }
    const bool other_call = origin_of(value).call != origin_of(expected).call;
    return ", and this is " + label_text(value) + (other_call ? " (of another call)" : "");
}

}  // namespace

std::vector<float> labels(std::size_t begin, std::size_t end, int rank, std::uint64_t salt) {
    std::vector<float> data;
    const std::size_t first = static_cast<std::size_t>(rank) * kPerRank + salt * kPerCall;
    for (std::size_t i = begin; i < end; ++i) {
        data.push_back(static_cast<float>(first + i));
    }
    return data;
}

std::vector<float> labels(std::size_t n, int rank, std::uint64_t salt) {
    return labels(0, n, rank, salt);
}

std::string label_text(float value) {
    const Origin origin = origin_of(value);
    return "element " + std::to_string(origin.element) + " of rank " + std::to_string(origin.rank) +
           "'s in";
}

Comparison same_labels(std::span<const float> got, std::span<const float> expected) {
    Comparison comparison = same(got, expected);
    if (comparison || got.size() != expected.size()) {
        return comparison;
    }
    std::size_t i = 0;
    while (got[i] == expected[i]) {
        ++i;
    }
    comparison.text +=
        ": " + label_text(expected[i]) + " belongs here" + misplaced(got[i], expected[i]);
    return comparison;
}

Comparison untouched(std::span<const float> out, const std::string& why) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!std::isnan(out[i])) {
            return {
                false,
                "index " + std::to_string(i) + " was written: " + label_text(out[i]) + "; " + why};
        }
    }
    return {};
}

}  // namespace dist::harness
