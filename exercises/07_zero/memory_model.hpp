// Exercise 07: how many bytes a rank holds, before anything is trained.
#pragma once

#include <cstddef>

#include "course/runtime/error.hpp"

namespace dist {

/// Which states are cut into shards, one for each rank. Every stage cuts what the one before it cuts, and
/// more: optimizer is ZeRO-1, gradients ZeRO-2, parameters ZeRO-3. With none, each rank holds all, as in
/// chapters 05 and 06.
enum class ZeroStage { none, optimizer, gradients, parameters };

/// fp32   parameters and gradients have 4 bytes each.
/// mixed  parameters and gradients have 2 bytes each, in bfloat16 or float16. The optimizer steps a copy of
///        the parameters in float32, the master weights, and keeps it: 4 bytes.
enum class Precision { fp32, mixed };

/// What else the optimizer keeps for each parameter, in float32 whatever the precision: sgd nothing, momentum
/// one number, adam two.
enum class OptimizerKind { sgd, momentum, adam };

/// Bytes of a model's states.
struct ModelStates {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t optimizer = 0;  // master weights, if any, and what else the optimizer keeps

    [[nodiscard]] std::size_t total() const { return parameters + gradients + optimizer; }
    bool operator==(const ModelStates&) const = default;
};

/// Counts what one rank holds when backward has made the gradients, to the byte. Activations, buffers and room
/// for messages do not count.
///
/// In every stage but none, all parameters lie in one row, and all gradients in another. A row is p shards of
/// equal length, n / p elements rounded up. Where p does not divide n, padding fills the end of the row, and
/// counts as well.
///
/// n        parameters of the model, each a number.
/// p        how many ranks.
/// returns  bytes; the same on every rank.
///
/// Cost    no message; a few operations: no loop over n or p.
/// Errors  std::invalid_argument if p < 1.
/// Source  Rajbhandari, Rasley, Ruwase & He (2020), "ZeRO: Memory optimizations toward training trillion
///         parameter models", sections 3.1 and 5.
ModelStates memory_model(
    std::size_t n, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
);

/// Finds the largest model: the most parameters for which memory_model(...).total() is at most `bytes`.
///
/// bytes    that each rank has for the states.
///
/// Cost    no message; a few operations: no loop over sizes or ranks.
/// Errors  std::invalid_argument if p < 1.
std::size_t largest_model(
    std::size_t bytes, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
);

}  // namespace dist
