// What ways of parallelism with equal replicas share.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <string>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Compares the parameters of all ranks, to the last bit: equal weights and equal gradients make equal
/// weights, or the gradients were not equal.
///
/// comm    collective: every rank of `comm` makes this call.
/// done    steps so far, and
/// author  who gave the ranks their gradients: for the text.
///
/// Errors  Stop, on every rank, with the first rank that differs from rank 0.
void expect_equal_replicas(
    std::span<const at::Tensor> parameters,
    const Communicator& comm,
    std::size_t done,
    const std::string& author
);

}  // namespace dist::trainer
