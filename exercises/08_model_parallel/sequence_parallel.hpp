// Exercise 08: between cut layers each rank keeps the activations of its own tokens, and of no others.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/08_model_parallel/redistribute.hpp"

namespace dist {

// A batch is B sequences of T tokens. Of t ranks, rank r has tokens [r T/t, (r+1) T/t) of each sequence: norms, dropout
// and residuals take each token by itself. Attention and MLP have cut weights and need all tokens: the whole is gathered
// where such a layer begins, and its result is added up and cut where the layer ends.
//
// In all that follows: activations are float32 on the host, in any layout; `comm` has t ranks and outlives what is
// returned; every rank makes the same calls, and the same calls of backward, with the same shapes. While backward runs,
// nobody else sends on `comm`. N is the number of elements of the whole. An all-gather and a reduce-scatter of N floats
// are t-1 messages of N/t floats each. If a message fails, dist::Error comes out, of backward as well.

/// All tokens, from those of each rank. The gradient goes the way back.
///
/// x         (B, T/t, ...): this rank's tokens.
/// gradient  how the ranks hold the gradient of the whole. Partial: each goes on with other weights, so the parts are
///           added up. Replicate: all compute the same with the whole, such as a loss, and each has all of it.
/// Returns   (B, T, ...), contiguous, the same on every rank.
///
/// Cost      one all-gather. Backward: one reduce-scatter, or nothing if the gradient is replicated.
/// Errors    std::invalid_argument, before any message, if x has less than two dimensions, or the gradient is a shard.
at::Tensor gather_from_sequence_parallel_region(
    const at::Tensor& x, const Communicator& comm, Placement gradient = Placement::partial()
);

/// Adds up over the ranks; each keeps its tokens of the sum.
///
/// partial   (B, T, ...): this rank's summand.
/// Returns   (B, T/t, ...), contiguous, in memory of its own.
///
/// Cost      one reduce-scatter. Backward: one all-gather.
/// Errors    std::invalid_argument, before any message, if t does not divide T, or there are less than two dimensions.
at::Tensor reduce_scatter_to_sequence_parallel_region(
    const at::Tensor& partial, const Communicator& comm
);

/// This rank's tokens, of what every rank has: how a sequence begins.
///
/// x         (B, T, ...), the same on every rank.
/// Returns   (B, T/t, ...), contiguous, in memory of its own.
///
/// Cost      nothing. Backward: one all-gather, so that every rank has the gradient of all tokens.
/// Errors    as reduce_scatter_to_sequence_parallel_region().
at::Tensor scatter_to_sequence_parallel_region(const at::Tensor& x, const Communicator& comm);

/// y = x W^T + b of all tokens, cut by columns of y. Backward needs x of all tokens again, for the gradient of the
/// weight: it keeps this rank's tokens alone, and gathers once more.
///
/// x         (B, T/t, in): this rank's tokens.
/// weight    (out/t, in): this rank's rows of W, as ColumnParallelLinear has them.
/// bias      (out/t), or undefined for none.
/// Returns   (B, T, out/t): this rank's columns of y.
///
/// Cost      one all-gather of x. Backward: one more, which travels while the gradient of x is computed; then one
///           reduce-scatter of that, which travels while the gradient of the weight is computed. No all-gather if the
///           weight needs no gradient, no reduce-scatter if x needs none: so on all ranks or on none.
/// Memory    kept for backward: x and the weight.
/// Errors    std::invalid_argument, before any message, if x is not (B, T/t, in).
at::Tensor sequence_parallel_column_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
);

/// y = x W^T + b, cut by columns of x: the ranks add up, and b is added once, to the tokens that a rank keeps.
///
/// x         (B, T, in/t): this rank's columns, of all tokens.
/// weight    (out, in/t): this rank's columns of W, as RowParallelLinear has them.
/// bias      (out), the same on every rank; or undefined for none.
/// Returns   (B, T/t, out): this rank's tokens of y.
///
/// Cost      one reduce-scatter of y. Backward: one all-gather of its gradient.
/// Errors    std::invalid_argument, before any message, if x is not (B, T, in/t), or t does not divide T.
at::Tensor sequence_parallel_row_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
);

/// Adds up, over the ranks, the gradients of parameters that every rank has as a whole but uses for its own tokens only:
/// those of norms, and a row-parallel layer's bias. Once in each step, when all of its backwards are through.
///
/// parameters  the same on every rank, in one order; any shapes. Their gradients change in place. One without a
///             gradient, on all ranks, is left out.
///
/// Cost        one ring all-reduce of all of them together.
void all_reduce_sequence_parallel_gradients(
    std::span<const at::Tensor> parameters, const Communicator& comm
);

/// While it lives, LibTorch's default generator on the host gives each rank of `comm` other random numbers, and every
/// scope others than the one before: for dropout of what is cut. Before it, the generator is the same on every rank.
/// So it is again when the scope ends, however many numbers each rank has drawn meanwhile.
///
/// Whoever brings back the generator from before a scope gets the same numbers in it again: recompute() does.
///
/// Source  Korthikanti et al. (2022), "Reducing activation recomputation in large transformer models", section 4.2.2;
///         NVIDIA, Megatron-LM, megatron/core/tensor_parallel/mappings.py, layers.py and random.py.
class ShardedRandom {
  public:
    /// Draws one number of the generator. Sends nothing.
    explicit ShardedRandom(const Communicator& comm);
    ~ShardedRandom();
    ShardedRandom(const ShardedRandom&) = delete;
    ShardedRandom& operator=(const ShardedRandom&) = delete;
    ShardedRandom(ShardedRandom&&) = delete;
    ShardedRandom& operator=(ShardedRandom&&) = delete;

  private:
    at::Tensor after_;  // the generator's state when the scope ends
};

}  // namespace dist
