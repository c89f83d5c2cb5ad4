// Exercise 08: linear layers whose weights are cut across ranks. No rank holds a whole one, and none computes with one.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// y = x W^T + b, cut by columns of y: each of t ranks computes out / t of them.
class ColumnParallelLinear {
  public:
    /// Rank r keeps rows [r out/t, (r+1) out/t) of W and b. Together t ranks begin with the numbers of one.
    ///
    /// whole_weight  W: (out, in) float32, the same on every rank. The layer copies its part: W may go then.
    /// whole_bias    b: (out) float32, the same on every rank; undefined for none.
    /// comm          t ranks. Outlives this, and all that forward() has returned. While backward runs, nobody
    ///               else sends on it.
    ///
    /// Errors  std::invalid_argument, before any message, if t does not divide out.
    ColumnParallelLinear(
        const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
    );

    /// Sends nothing. Each rank has only its part of the gradient of x: backward adds the parts up over the
    /// ranks, and computes the gradient of the weight meanwhile. The messages begin before that computation,
    /// wherever each of them runs, and have ended when the gradient of x is there.
    ///
    /// x        (..., in) float32, the same on every rank, in any layout.
    /// Returns  (..., out / t): this rank's columns of y.
    ///
    /// Cost     of backward: one ring all-reduce of as many floats as x has. None if x needs no gradient, which
    ///          must be so on all ranks or on none.
    /// Errors   std::invalid_argument if x does not have `in` columns; dist::Error out of backward if a
    ///          message fails.
    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;

    at::Tensor weight;  // (out / t, in): a leaf that requires a gradient
    at::Tensor bias;    // (out / t): as well; or undefined

  private:
    const Communicator& comm_;
};

/// y = x W^T + b, cut by columns of x: each of t ranks computes with in / t of them, and the ranks add up.
class RowParallelLinear {
  public:
    /// Rank r keeps columns [r in/t, (r+1) in/t) of W, and all of b.
    ///
    /// whole_weight, whole_bias, comm   as in ColumnParallelLinear.
    ///
    /// Errors  std::invalid_argument, before any message, if t does not divide in.
    RowParallelLinear(
        const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
    );

    /// Adds up over the ranks, and then adds b, once. Backward sends nothing.
    ///
    /// x        (..., in / t) float32: this rank's columns, in any layout.
    /// Returns  (..., out): y, the same on every rank.
    ///
    /// Cost     one ring all-reduce of as many floats as y has.
    /// Errors   std::invalid_argument, before any message, if x does not have in / t columns; dist::Error if a
    ///          message fails.
    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;

    at::Tensor weight;  // (out, in / t): a leaf that requires a gradient
    at::Tensor bias;    // (out): as well, the same on every rank; or undefined

  private:
    const Communicator& comm_;
};

/// row(activation(column(x))): two layers that meet where nothing has to be sent.
///
/// x           (..., in) float32, the same on every rank.
/// column      (hidden, in) as a whole.
/// row         (out, hidden) as a whole, on the same ranks.
/// activation  of each element; where it is empty, GELU (at::gelu).
/// Returns     (..., out), the same on every rank.
///
/// Cost    forward: one ring all-reduce, of as many floats as the result has. Backward: one, of as many as x has.
///         A ring all-reduce of N floats is 2(t-1) messages of N / t.
/// Errors  those of both layers.
/// Source  Shoeybi et al. (2019), "Megatron-LM: Training multi-billion parameter language models using model
///         parallelism", section 3.
at::Tensor tensor_parallel_mlp(
    const at::Tensor& x,
    const ColumnParallelLinear& column,
    const RowParallelLinear& row,
    const std::function<at::Tensor(const at::Tensor&)>& activation = {}
);

}  // namespace dist
