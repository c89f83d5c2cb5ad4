// Exercise 05: how many examples of a set the model gets right, counted by all ranks together.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "course/nn/batch.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Of all ranks together.
struct Evaluation {
    std::int64_t correct = 0;  // examples whose largest score is that of their label
    std::int64_t counted = 0;  // examples that were looked at: all, each once
    bool operator==(const Evaluation&) const = default;
};

/// Counts what the model gets right in a set of n examples, each looked at by exactly one rank. Every
/// rank returns the same two counts, which are those of one rank alone: accuracy is
/// correct / counted, and no mean of the ranks' accuracies.
///
/// forward  the model: inputs (B, ...) -> scores (B, classes) float32, B >= 1, in any order in
///          memory. It is called without autograd (no gradient is recorded), and only where the rank
///          has examples. Afterwards autograd is as it was before, also if forward throws.
/// load     makes a batch, `inputs` and `labels`, of the examples with these numbers,
///          of 0 to n-1.
/// n        examples in the set, 0 <= n < 2^24 (so that a float holds every count). Which of them are
///          whose is free; ranks may have unequal numbers, by one at most, and none where n < p.
/// batch    the most examples in one call of load and forward, >= 1.
/// comm     collective: every rank of `comm` makes this call.
///
/// Cost     n / p examples a rank, rounded up, each loaded once, in as few calls of load and forward as
///          `batch` allows; one ring all-reduce of two floats: at most 2(p-1) messages and as many
///          floats.
/// Errors   std::invalid_argument, before any message is sent and anything is loaded, if n or batch is
///          out of range. dist::Error if a message fails. What load and forward throw passes through.
/// Source   PyTorch's examples, imagenet/main.py: AverageMeter.all_reduce adds sums and counts.
Evaluation evaluate(
    const std::function<at::Tensor(const at::Tensor&)>& forward,
    const std::function<nn::Batch(std::span<const std::size_t>)>& load,
    std::size_t n,
    std::size_t batch,
    const Communicator& comm
);

}  // namespace dist
