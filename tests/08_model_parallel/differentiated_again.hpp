// Backward that is to be differentiated again (create_graph): what sends messages cannot be, and says so.
#pragma once

#include <stdexcept>

#include <torch/csrc/autograd/autograd.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// The gradient of `leaf`, with create_graph, is refused by std::logic_error.
inline Comparison is_refused_again(const at::Tensor& result, const at::Tensor& leaf) {
    try {
        torch::autograd::grad({result.sum()}, {leaf}, {}, true, /*create_graph=*/true);
    } catch (const std::logic_error&) {
        return {};
    }
    return {
        false,
        "backward with create_graph returns: what is differentiated again would be a constant, or "
        "wrong, in silence"};
}

}  // namespace dist::harness
