// Exercise 08: a mixture of experts over ranks. Tokens travel to their experts, and results travel
// back.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// How many choices of one rank an expert takes: tokens * k / experts * factor, rounded up.
std::int64_t expert_capacity(
    std::int64_t tokens, std::int64_t k, std::int64_t experts, double factor
);

/// Where a rank's T tokens go: each chooses k of E experts.
struct Routing {
    at::Tensor probabilities;  // (T, E) float32: softmax of the scores, with its gradient
    at::Tensor experts;        // (T, k) int64: the choices of each token, the best first
    at::Tensor weights;        // (T, k) float32: the probability of each choice, with its gradient
    at::Tensor kept;           // (T, k) bool: false if the expert was full
};

/// Chooses for each token the k experts with the highest scores. If scores are equal, the expert
/// with the lower number comes first.
///
/// Weights are probabilities among all E experts, so they need not add up to 1. Each expert keeps
/// its first expert_capacity(T, k, E, factor) choices, in the order of tokens, and drops the rest.
///
/// scores   (T, E) float32. T may be 0.
/// k        1 to E.
/// factor   of the capacity, > 0. With 1 there is room for all choices if they are spread evenly.
///
/// Errors  std::invalid_argument if scores has not two dimensions, or k or factor is out of range.
/// Source  Fedus, Zoph & Shazeer (2021), "Switch transformers: Scaling to trillion parameter models
///         with simple and efficient sparsity", section 2.
Routing route(const at::Tensor& scores, std::int64_t k, double factor);

/// E times the sum of f P over all experts: 1 if the choices are spread evenly, E if every token
/// goes to the same expert with probability 1.
///
///   f  the expert's part of all ranks' choices, dropped ones included. It has no gradient.
///   P  the expert's mean probability over the tokens of this rank.
///
/// routing  of this rank's tokens. E and k are the same on all ranks, T may differ.
/// Returns  a number, 0 if this rank has no tokens. The mean over ranks, weighted by their tokens,
///          is the loss of one process that has all tokens.
///
/// Cost    one ring all-reduce of E floats. Backward sends nothing.
/// Errors  dist::Error if a message fails.
/// Source  Fedus, Zoph & Shazeer (2021), section 2.2.
at::Tensor balance_loss(const Routing& routing, const Communicator& comm);

/// All-to-all of rows, with a number of rows for each pair of ranks. Backward sends the gradient of
/// each row to where the row came from.
///
/// rows      (n, d) float32, in any layout: first those for rank 0, then those for rank 1, ...
/// sends     p numbers that add up to n: how many rows go to each rank.
/// receives  p numbers: how many rows come from each rank.
/// comm      p ranks. Outlives backward. While backward runs, nobody else sends on it.
/// Returns   (sum of receives, d): first the rows from rank 0, then those from rank 1, ...
///
/// Cost    forward: one message to each other rank that gets rows, and none to the rest. Backward:
///         one message to each other rank that sent rows; none if rows needs no gradient, which
///         must be so on all ranks or on none.
/// Errors  std::invalid_argument, before any message, if sends or receives are not p numbers >= 0,
///         or sends do not add up to n. dist::Error, out of forward and of backward, if a message
///         fails. std::logic_error out of backward if it is to be differentiated again (create_graph).
at::Tensor exchange_rows(
    const at::Tensor& rows,
    const std::vector<std::int64_t>& sends,
    const std::vector<std::int64_t>& receives,
    const Communicator& comm
);

/// What one of this rank's experts makes of tokens: (n, d) to (n, d). `local` is 0 to E/p - 1.
using Experts = std::function<at::Tensor(std::int64_t local, const at::Tensor& tokens)>;

/// For each token the sum of weight * expert(token) over its kept choices. A token without one gets
/// 0: it is the caller who adds x. Rank r has the experts r E/p to (r+1) E/p - 1.
///
/// Each rank calls each of its experts once, in their order. An expert's tokens come in the order
/// of their ranks, and those of one rank in their order there. An expert without tokens is called
/// with none, so that its parameters get a gradient, which is 0. Backward gives experts the
/// gradient of the sum of all ranks' losses.
///
/// x        (T, d) float32, in any layout. T may differ between ranks, and be 0.
/// routing  of these tokens.
/// experts  their parameters require gradients on all ranks or on none. So does x.
/// comm     p ranks. Outlives backward, which all ranks run, with tokens or without. While backward
///          runs, nobody else sends on it.
/// Returns  (T, d).
///
/// Cost    forward: one all_to_all of E counts, as floats; one exchange_rows() of the kept choices,
///         d floats each; and one of the results. Backward: the same two exchanges, and no counts;
///         one exchange, that of the results' gradients, if x needs no gradient.
/// Errors  std::invalid_argument, before any message, if p does not divide E, or routing is not of
///         T tokens. dist::Error, out of forward and of backward, if a message fails.
/// Source  Lepikhin et al. (2020), "GShard: Scaling giant models with conditional computation and
///         automatic sharding", section 2.
at::Tensor expert_parallel(
    const at::Tensor& x, const Routing& routing, const Experts& experts, const Communicator& comm
);

}  // namespace dist
