// Exercise 07: parameters are kept in shards as well: a unit of the model has its weights only while it computes.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Parameters that come and go together: those of a layer, or of a block.
struct FsdpUnit {
    std::vector<at::Tensor> parameters;
    bool reshard_after_forward = true;  // false: the weights stay from forward to backward
};

/// ZeRO-3, as PyTorch's fully_shard: each rank keeps shards of weights, gradients and optimizer state. A step of
/// training:
///
///     optimizer.zero_grad();
///     const at::Tensor h = optimizer.forward(0, [&] { return layer0(x); });
///     const at::Tensor y = optimizer.forward(1, [&] { return layer1(h); });
///     loss_of(y).backward();
///     optimizer.step();
///
/// The parameters of a unit are views of one row, as flatten_parameters() makes it. The row has memory while the
/// unit computes, in forward and in backward; in between each rank keeps its shard of it elsewhere.
///
/// Between two steps each rank holds memory_model(n, p, ZeroStage::parameters, ...) bytes, added up over the
/// units, and not one more. In backward it holds besides them the weights and gradients of one unit, and of each
/// that backward will come to again, one gradient that has just come, and with prefetch the weights of the next
/// unit. (The future of a task becomes ready a moment before the task is destroyed, with all that it has captured.
/// So a task for a row of gradients captures a span, and the row is freed in time.)
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.3; Zhao et al. (2023), "PyTorch FSDP: Experiences on scaling fully sharded data parallel".
class Zero3 {
  public:
    /// units     numbered in the order in which forward begins them; all parameters in float32: leaves that
    ///           require gradients, each in one unit, once. The same on every rank. The parameters have values in
    ///           forward(), in what is called there, and in backward.
    /// options   of the optimizer that steps the shards.
    /// comm      outlives this, and all that forward() has returned. Nobody else sends on it.
    /// prefetch  gathers the next unit while one computes: see forward().
    ///
    /// Errors    std::invalid_argument, before anything is changed, for other parameters.
    Zero3(
        std::vector<FsdpUnit> units,
        const nn::OptimizerOptions& options,
        const Communicator& comm,
        bool prefetch = true
    );

    /// Frees the weights of all units: no parameter has memory any more.
    ~Zero3();
    Zero3(const Zero3&) = delete;
    Zero3& operator=(const Zero3&) = delete;
    Zero3(Zero3&&) = delete;
    Zero3& operator=(Zero3&&) = delete;

    /// Calls `module` while the unit's parameters have their weights, and returns what it returns. Frees the weights
    /// afterwards: at once where reshard_after_forward is set or autograd is off, else when backward is done with
    /// the unit. If module throws, whatever it throws, frees the weights of all units.
    ///
    /// Collective: all ranks make the same calls, in the same order, and call backward equally often, each from a
    /// result in which some unit takes part. In the first backward after the calls their graphs may differ: a rank may
    /// leave out a parameter or a whole unit, drop what module returns, or return what needs no gradient. A gradient
    /// that does not come counts as zeros on that rank. When a backward ends, it forgets the calls.
    ///
    /// A unit may be called several times, or not at all. In backward it is gathered once and reduced once: it keeps
    /// its weights until backward has left its first call. module may call other units. Then the weights of the outer
    /// unit are there while the inner ones compute, so parameters that several units share belong to the outer one.
    /// module may return its input, or what an inner unit has returned: one tensor then stands for several calls.
    ///
    /// With prefetch, the gather of unit + 1, if there is one, begins before module is called. In backward, before
    /// a call's own backward, the gather begins for the unit of the call that ended just before it in forward.
    /// Nobody waits for either until its weights are needed. When backward ends, frees what was gathered in vain.
    ///
    /// Cost    of n elements, padding included: p-1 messages of n / p here; as many in backward, if the weights
    ///         are not there; as many for the gradients.
    /// Errors  std::invalid_argument if there is no such unit; dist::Error if a message fails, here or out of
    ///         backward(); what module throws.
    at::Tensor forward(std::size_t unit, const std::function<at::Tensor()>& module);

    /// Throws all gradients away, and all weights, also after a backward that ended with an error. It forgets the
    /// calls: a backward from an earlier result still works if the graphs of all ranks are equal.
    void zero_grad();

    /// Steps this rank's shards by the mean of all ranks' gradients: see Zero2::step(). Sends nothing. Frees weights
    /// that are still there: they are those of before the step.
    void step();

    /// What steps this rank's shards: one parameter for each unit, in their order. It may be given another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::shared_ptr<State> state_;
};

}  // namespace dist
