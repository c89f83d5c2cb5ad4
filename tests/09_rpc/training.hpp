// A training that shows each wrong bit, as one process does it.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace dist::harness {

using Row = std::vector<float>;

inline void sgd(std::span<float> row, std::span<const float> gradient) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] -= 0.25F * gradient[i];
    }
}

inline Row first_row(std::size_t n) {
    Row row(n);
    for (std::size_t i = 0; i < n; ++i) {
        row[i] = 1 + static_cast<float>(i % 7);
    }
    return row;
}

/// Depends on the row, so that a wrong one shows; and is rounded in another way in each order of
/// the sum.
inline Row gradient_of(int worker, const Row& row) {
    Row gradient;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto large = static_cast<float>(4096 * (1 - worker));  // 4096, 0, -4096
        gradient.push_back(
            large + row[i] / static_cast<float>(3 + 4 * worker) + 1 / static_cast<float>(3 * i + 7)
        );
    }
    return gradient;
}

/// The row after so many steps, in one process.
inline Row trained(std::size_t n, int workers, std::int64_t steps) {
    Row row = first_row(n);
    for (std::int64_t step = 0; step < steps; ++step) {
        Row mean(n);
        for (int worker = 0; worker < workers; ++worker) {
            std::ranges::transform(mean, gradient_of(worker, row), mean.begin(), std::plus());
        }
        for (float& element : mean) {
            element /= static_cast<float>(workers);
        }
        sgd(row, mean);
    }
    return row;
}

}  // namespace dist::harness
