// Exercise 07: each rank steps its own shard of the parameters, and keeps optimizer state only for that shard.
#pragma once

#include <ATen/core/Tensor.h>
#include <memory>
#include <span>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Lays parameters side by side in one row, in their order. Each parameter becomes a view of its part of the row,
/// and its old memory is freed. Its shape, its elements to the bit, and requires_grad stay.
///
/// parameters  of one dtype, on one device; each once; in memory in any way.
/// p           how many shards the row will be cut into.
/// returns     the row: p shards of equal length, n / p elements rounded up, with zeros at the end as padding.
///
/// Cost    no message; memory for the row; each parameter is copied once.
/// Errors  std::invalid_argument, before anything is changed, if p < 1 or there are two dtypes.
at::Tensor flatten_parameters(std::span<const at::Tensor> parameters, int p);

/// Cuts a row into views, one for each tensor and with its shape, side by side in the tensors' order.
///
/// row      (n), n at least the elements of all tensors.
/// tensors  only their shapes count.
///
/// Cost     no message, no copy.
std::vector<at::Tensor> views_of(const at::Tensor& row, std::span<const at::Tensor> tensors);

/// This rank's shard of a row: a view.
///
/// row      (n), p divides n.
///
/// Cost     no message, no copy.
at::Tensor shard_of(const at::Tensor& row, const Communicator& comm);

/// ZeRO-1: an optimizer that keeps a p-th of its state on each rank. A step of training:
///
///     optimizer.zero_grad();
///     loss.backward();           // each rank's own gradients
///     optimizer.step();          // averages them; each rank steps its shard; all get all parameters
///
/// Parameters lie in one row and gradients in another, as flatten_parameters() makes them; rank r steps shard r.
/// Between two calls each rank holds memory_model(n, p, ZeroStage::optimizer, ...) bytes, and not one more.
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.1.
class Zero1 {
  public:
    /// parameters  the model's, in float32: leaves that require gradients, each once, the same on every rank.
    ///             They and their gradients become views. Older gradients are thrown away.
    /// options     of the optimizer that steps the shard.
    /// comm        outlives this.
    ///
    /// Errors      std::invalid_argument, before anything is changed, for other parameters.
    Zero1(
        std::vector<at::Tensor> parameters,
        const nn::OptimizerOptions& options,
        const Communicator& comm
    );
    ~Zero1();
    Zero1(const Zero1&) = delete;
    Zero1& operator=(const Zero1&) = delete;
    Zero1(Zero1&&) = delete;
    Zero1& operator=(Zero1&&) = delete;

    /// Puts every gradient in its place in the row, as zeros.
    void zero_grad();

    /// Averages the gradients over all ranks: divides them by p, then adds them up. Steps this rank's shard by
    /// the mean, and collects the other ranks' shards. A gradient that lies elsewhere, in any layout, is moved
    /// into the row; one that is not there, on this rank or on all, counts as zeros. Afterwards the gradients
    /// lie in the row with any values.
    ///
    /// Collective: every rank of the communicator makes this call.
    ///
    /// Cost    2(p-1) messages of a shard each: one ring reduce-scatter of the gradients, one ring all-gather
    ///         of the parameters. As much as one ring all-reduce.
    /// Errors  dist::Error if a message fails; if none has come through, no parameter has changed.
    void step();

    /// The optimizer of this rank's shard, which is its only parameter. You may set another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
