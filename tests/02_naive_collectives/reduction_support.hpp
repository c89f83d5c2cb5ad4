// What the tests of reductions share.
#pragma once

#include <string>
#include <vector>

#include "course/runtime/reduce_op.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

// Whole numbers add, multiply and compare exactly. The mean rounds twice, by 2^-24 each time: 1/p,
// and the product with it; the expected value rounds once.
inline double tolerance(ReduceOp op) {
    return op == ReduceOp::mean ? 3.0 / (1 << 24) : 0.0;
}

inline std::vector<float> scaled(std::vector<float> data, float factor) {
    scale(data, factor);
    return data;
}

/// What likely mistakes leave in the place of a reduction, whichever rank holds it.
inline std::vector<Suspicion> reduction_mistakes(
    std::size_t n, ReduceOp op, int p, std::uint64_t salt = 0
) {
    const auto result = reduced_input(n, p, op, salt);
    const std::vector<float> zeros(n, 0.0F);
    std::vector<Suspicion> all;
    if (op == ReduceOp::mean) {
        all.push_back({zeros, "1 / p is 0 in whole numbers: divide as float"});
        const auto factor = static_cast<float>(p);
        all.push_back({scaled(result, factor), "that is the sum: mean divides it by p, once"});
        all.push_back({scaled(result, 1.0F / factor), "that is the mean divided by p once more"});
    }
    all.push_back({zeros, "start from a contribution, not from zero"});
    if (op != ReduceOp::sum) {
        all.push_back({reduced_input(n, p, ReduceOp::sum, salt), "that is the sum: look at op"});
    }
    return all;
}

}  // namespace dist::harness
