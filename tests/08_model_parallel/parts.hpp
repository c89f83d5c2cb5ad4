// Tensors that are cut across ranks, and what one process has in their place.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

/// This rank's t-th of a tensor, along a dimension.
inline at::Tensor part(const at::Tensor& whole, std::int64_t dim, const Communicator& comm) {
    const std::int64_t length = whole.size(dim) / comm.size();
    return whole.detach().narrow(dim, comm.rank() * length, length);
}

/// Are they the same, in shape and in every number? As same() compares, which has the tolerance.
inline Comparison equal(
    const at::Tensor& got,
    const at::Tensor& expected,
    const std::vector<std::pair<at::Tensor, std::string>>& mistakes = {},
    double tolerance = 0
) {
    if (!got.defined()) {
        return {false, "it is undefined"};
    }
    if (got.sizes() != expected.sizes()) {
        return {
            false,
            text("it has another shape: (", got.sizes(), ") in place of (", expected.sizes(), ")")};
    }
    std::vector<Suspicion> suspicions;
    for (const auto& [values, sentence] : mistakes) {
        suspicions.push_back({elements(values), sentence});
    }
    return same(elements(got), elements(expected), tolerance, suspicions);
}

/// A loss whose gradient differs in every element of y.
inline at::Tensor loss_of(const at::Tensor& y, std::uint64_t salt = 0) {
    return y.mul(filled(y.sizes(), 0, salt + 50)).sum();
}

}  // namespace dist::harness
