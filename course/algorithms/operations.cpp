#include "course/algorithms/operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "course/algorithms/expected.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::lab {
namespace {

std::vector<float> reduction(std::size_t n, int p, std::uint64_t seed, ReduceOp op) {
    std::vector<float> result = contribution(n, 0, seed, op);
    for (int rank = 1; rank < p; ++rank) {
        accumulate(contribution(n, rank, seed, op), result, op);
    }
    if (op == ReduceOp::mean) {
        scale(result, 1 / static_cast<float>(p));
    }
    return result;
}

}  // namespace

ReduceOp find_operation(std::string_view text) {
    for (const ReduceOp op : kOperations) {
        if (text == name(op)) {
            return op;
        }
    }
    if (text == "prod") {
        return ReduceOp::product;
    }
    if (text == "avg") {
        return ReduceOp::mean;
    }
    throw std::invalid_argument(
        fmt::format("no operation \"{}\"; there are: sum, mean, product, min, max", text)
    );
}

std::vector<float> contribution(std::size_t n, int rank, std::uint64_t seed, ReduceOp op) {
    std::vector<float> data = seeded_data(n, rank, seed);  // 1 to 8
    constexpr std::array<float, 8> kFactors{1, -1, 2, -0.5F, 1, -2, 0.5F, -1};
    constexpr float kMiddle = 4.5F;
    for (float& x : data) {
        if (op == ReduceOp::product) {
            x = kFactors[static_cast<std::size_t>(x) - 1];
        } else if (op != ReduceOp::sum) {
            x -= kMiddle;
        }
    }
    return data;
}

std::vector<float> expected_with(
    const Collective& collective, std::size_t n, int p, int r, std::uint64_t seed, ReduceOp op
) {
    std::vector<float> expected(n);
    collective.expect(expected, p, r, seed);
    if (op != ReduceOp::sum) {
        const std::vector<float> other = reduction(n, p, seed, op);
        std::ranges::transform(expected, other, expected.begin(), [](float sum, float x) {
            return std::isnan(sum) ? sum : x;
        });
    }
    return expected;
}

long count_wrong(std::span<const float> data, std::span<const float> expected, ReduceOp op) {
    if (op != ReduceOp::mean) {
        return count_wrong(data, expected);
    }
    constexpr float kAllowed = 1e-4F;
    long wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const bool right = std::isnan(expected[i]) || std::abs(data[i] - expected[i]) <= kAllowed;
        wrong += right ? 0 : 1;
    }
    return wrong;
}

}  // namespace dist::lab
