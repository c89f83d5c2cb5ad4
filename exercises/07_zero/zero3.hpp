// Exercise 07: parameters, too, are kept in shards: a unit of the model has its weights only while it computes.
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
    bool reshard_after_forward = true;  // or their weights stay from forward to backward
};

/// ZeRO-3, as PyTorch's fully_shard: a rank keeps its shards of everything. A step of training:
///
///     optimizer.zero_grad();
///     const at::Tensor h = optimizer.forward(0, [&] { return layer0(x); });
///     const at::Tensor y = optimizer.forward(1, [&] { return layer1(h); });
///     loss_of(y).backward();
///     optimizer.step();
///
/// The parameters of a unit lie in one row, as flatten_parameters() makes it, whose memory is there when it is
/// needed: nn::alloc_storage() and nn::free_storage(). In between each rank has its shard of the row, outside of
/// it. Forward: the row is gathered, the unit computes, the row is freed. Backward: when the gradient of the
/// unit's output is there, the row is gathered once more; when all gradients of the unit are there, the row is
/// freed, and the gradients meet, as in Zero2.
///
/// Between two steps each rank holds memory_model(n, p, ZeroStage::parameters, ...) bytes, added up over the
/// units, and not one more.
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.3; Zhao et al. (2023), "PyTorch FSDP: Experiences on scaling fully sharded data parallel".
class Zero3 {
  public:
    /// units     numbered in the order in which forward begins them; all parameters in float32: leaves that
    ///           require gradients, each in one unit, once. The same on every rank. The parameters become views
    ///           of their rows: they have values in forward(), in what is called there, and in backward.
    /// options   of the optimizer that steps the shards.
    /// comm      outlives this, and all that forward() has returned. Nobody else's.
    /// prefetch  while a unit computes, the next one is gathered: see forward().
    ///
    /// Errors    std::invalid_argument, before anything is changed, for other parameters.
    Zero3(
        std::vector<FsdpUnit> units,
        const nn::OptimizerOptions& options,
        const Communicator& comm,
        bool prefetch = true
    );

    /// The parameters have no memory any more.
    ~Zero3();
    Zero3(const Zero3&) = delete;
    Zero3& operator=(const Zero3&) = delete;
    Zero3(Zero3&&) = delete;
    Zero3& operator=(Zero3&&) = delete;

    /// What `module` returns, which is called while the unit's parameters have their weights. Afterwards these
    /// are freed: at once where reshard_after_forward is set, or nothing is recorded for backward; otherwise
    /// when backward has come to them. If module throws, the weights of all units are freed.
    ///
    /// Collective: all ranks make the same calls, in the same order; and backward from results in which the
    /// same units take part. A unit may be called several times, or not at all. module may call others: units
    /// are nested then, and the outer one, whose weights are there as long as the inner ones compute, is the
    /// place for a parameter that several of them share.
    ///
    /// With prefetch, the gather of unit + 1, if there is one, begins before module is called, and in backward
    /// that of the unit that ended before this one did in forward, before this one's backward. Nobody waits for
    /// them until they are needed. What was gathered in vain is freed when backward ends.
    ///
    /// Cost    of n elements, padding and all: p-1 messages of n / p here; as many in backward, if the weights
    ///         are not there; as many for the gradients.
    /// Errors  std::invalid_argument if there is no such unit; dist::Error if a message fails, here or out of
    ///         backward(); what module throws.
    at::Tensor forward(std::size_t unit, const std::function<at::Tensor()>& module);

    /// Throws all gradients away; also the weights, and what a backward that ended with an error left behind.
    void zero_grad();

    /// Steps this rank's shards by the mean of all ranks' gradients: see Zero2::step(). Sends nothing. Weights
    /// that are still there are freed: they are those of before the step.
    void step();

    /// What steps this rank's shards: one parameter for each unit. It may be given another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::shared_ptr<State> state_;
};

}  // namespace dist
