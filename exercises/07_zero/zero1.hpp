// Exercise 07: each rank steps its shard of the parameters, and keeps the optimizer's state of no other.
#pragma once

#include <ATen/core/Tensor.h>
#include <memory>
#include <span>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Lays parameters side by side in one row, in their order. Each becomes a view of its part, with its shape
/// and its values, and gives its own memory back.
///
/// parameters  of one dtype, on one device; each once.
/// p           shards that the row is to be cut into.
/// returns     the row: p shards of equal length, n / p elements rounded up; its end is filled up with zeros.
///
/// Cost    no message; the row, and each parameter is copied once.
/// Errors  std::invalid_argument, before anything is changed, if p < 1 or there are two dtypes.
at::Tensor flatten_parameters(std::span<const at::Tensor> parameters, int p);

/// The tensors' parts of a row in which they lie side by side: views, each with its tensor's shape.
///
/// row      (n), n at least the elements of all of them. What their values are is of no matter.
/// tensors  in their order.
///
/// Cost     no message, no copy.
std::vector<at::Tensor> views_of(const at::Tensor& row, std::span<const at::Tensor> tensors);

/// This rank's shard of a row: a view.
///
/// row      (n), p divides n.
///
/// Cost     no message, no copy.
at::Tensor shard_of(const at::Tensor& row, const Communicator& comm);

/// ZeRO-1: an optimizer whose state is cut into p shards. A step of training:
///
///     optimizer.zero_grad();
///     loss.backward();           // each rank's own gradients
///     optimizer.step();          // their mean; each rank steps its shard; all have all parameters
///
/// Parameters lie in one row and gradients in another, as flatten_parameters() makes them: shard r is rank
/// r's. Each rank holds memory_model(n, p, ZeroStage::optimizer, ...) bytes, and not one more.
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.1.
class Zero1 {
  public:
    /// parameters  the model's, in float32: leaves that require gradients, each once, the same on every rank.
    ///             They and their gradients become views.
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

    /// All gradients are zeros, and lie in their row.
    void zero_grad();

    /// Averages the gradients over all ranks, each divided by p before they are added up; steps this rank's
    /// shard by the mean; collects the others'. A gradient that was thrown away, or lies elsewhere, is moved
    /// into the row: one that is not there counts as zeros. Gradients have no particular values afterwards.
    ///
    /// Collective: every rank of the communicator makes this call.
    ///
    /// Cost    2(p-1) messages of a shard each: one ring reduce-scatter of the gradients, one ring all-gather
    ///         of the parameters. As much as one ring all-reduce.
    /// Errors  dist::Error if a message fails.
    void step();

    /// What steps this rank's shard: its one parameter is that shard. It may be given another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

  private:
    struct State;  // the rows, and what belongs to them; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
