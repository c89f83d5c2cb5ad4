// Exercise 07: ZeRO-3 by whole layers: each has an owner, which lends its weights to the others.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Deals units out to ranks: the largest first, each to the rank that has the fewest elements by then.
///
/// lengths  elements of each unit. Of two units of the same length, the one with the lower number comes first.
/// p        how many ranks. Of two ranks with the same number of elements, the lower one gets the unit.
/// returns  the owner of each unit.
///
/// Cost     no message.
/// Errors   std::invalid_argument if p < 1.
/// Source   PyTorch, torch/distributed/optim/zero_redundancy_optimizer.py, _partition_parameters.
std::vector<int> deal_out(std::span<const std::size_t> lengths, int p);

/// ZeRO-3 without shards. Each unit has an owner, which keeps its weights, its gradients and its optimizer state. The
/// owner broadcasts the weights when the unit computes, in forward and in backward; the others free them afterwards.
/// The owner gets the mean of all ranks' gradients, each divided by p before they are added up. A step of training is
/// that of Zero3.
///
/// Between two steps the owner of n elements holds 4n bytes of weights, 4n of gradients and the optimizer's state, the
/// others nothing. There is no padding.
class BroadcastZero3 {
  public:
    /// units    the parameters of each, in float32: leaves that require gradients, each in one unit, once. The
    ///          same on every rank. They become views of their unit's row. deal_out() chooses the owners.
    /// options  of the optimizer that steps what this rank owns.
    /// comm     outlives this, and all that forward() has returned. Nobody else sends on it.
    ///
    /// Errors   std::invalid_argument, before anything is changed, for other parameters.
    BroadcastZero3(
        const std::vector<std::vector<at::Tensor>>& units,
        const nn::OptimizerOptions& options,
        const Communicator& comm
    );

    /// Frees all weights of which this rank is not the owner.
    ~BroadcastZero3();
    BroadcastZero3(const BroadcastZero3&) = delete;
    BroadcastZero3& operator=(const BroadcastZero3&) = delete;
    BroadcastZero3(BroadcastZero3&&) = delete;
    BroadcastZero3& operator=(BroadcastZero3&&) = delete;

    /// As Zero3::forward() without prefetch, with reshard_after_forward set.
    ///
    /// Cost    of n elements: a tree_broadcast() here, one in backward, a tree_reduce() of the gradients.
    /// Errors  std::invalid_argument if there is no such unit; dist::Error if a message fails, here or out of
    ///         backward(); what module throws.
    at::Tensor forward(std::size_t unit, const std::function<at::Tensor()>& module);

    /// As Zero3::zero_grad().
    void zero_grad();

    /// Steps the units that this rank owns. Sends nothing.
    void step();

    /// What steps them: one parameter for each unit that this rank owns, in their order. It may be given another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::shared_ptr<State> state_;
};

}  // namespace dist
