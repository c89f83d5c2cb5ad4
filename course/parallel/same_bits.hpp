// Whether ranks hold the same, to the last bit.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <string>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Compares weights that ranks should hold alike.
///
/// done    steps so far, and
/// author  who gives the ranks their gradients: for the text.
/// comm    collective: every rank of `comm` makes this call.
///
/// Errors  Stop, on every rank of `comm`.
void expect_same_bits(
    std::span<const at::Tensor> weights,
    std::size_t done,
    const std::string& author,
    const Communicator& comm
);

}  // namespace dist::trainer
