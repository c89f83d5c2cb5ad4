// Data and results of a collective for any operation, where expected.hpp knows those of a sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist::lab {

inline constexpr std::array kOperations = {
    ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

/// Whether the collective combines elements.
inline bool combines(const Collective& collective) {
    return collective.redop == "sum";
}

/// "product" and its kind; NCCL's names, "prod" and "avg", as well.
///
/// Errors  std::invalid_argument, naming those that there are.
ReduceOp find_operation(std::string_view name);

/// A rank's n elements. For a sum seeded_data; for others with signs, and of a product the factors
/// are powers of two: whatever the order, every result but a mean is exact.
std::vector<float> contribution(std::size_t n, int rank, std::uint64_t seed, ReduceOp op);

/// What the collective leaves on rank r of p, n elements; kAnything where any value is right.
std::vector<float> expected_with(
    const Collective& collective, std::size_t n, int p, int r, std::uint64_t seed, ReduceOp op
);

/// How many elements are not as expected. A mean may be rounded in its own way, so it is right
/// within 1e-4.
long count_wrong(std::span<const float> data, std::span<const float> expected, ReduceOp op);

}  // namespace dist::lab
