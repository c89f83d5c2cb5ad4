// Exercise 07: gradients, too, are kept in shards: they meet bucket by bucket, while backward makes others.
#pragma once

#include <ATen/core/Tensor.h>
#include <memory>
#include <span>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"

namespace dist {

/// ZeRO-2: as Zero1, and a rank keeps only its shard of the gradients. A step of training:
///
///     optimizer.zero_grad();
///     loss.backward();      // a bucket meets those of the others when its last gradient is there
///     optimizer.step();     // each rank steps its shards; all have all parameters
///
/// The parameters of each bucket lie in a row, as flatten_parameters() makes it: its shard r is rank r's.
/// The bucket's gradients have a row as well, from the first one that comes until they have met; then the
/// rank's shard of their mean is all that is left. No parameter has a gradient after backward.
///
/// When backward has ended, each rank holds memory_model(n, p, ZeroStage::gradients, ...) bytes, added up over
/// the buckets, and not one more. On the way it holds besides them the rows of the buckets that are being
/// filled, and the gradient that has just come: where gradients come in the order of the buckets, that is one row.
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.2.
class Zero2 {
  public:
    /// parameters  the model's, in float32: leaves that require gradients, each once, the same on every rank.
    ///             They become views. A backward from them, on any rank, is one on all ranks.
    /// limits      bytes, for gradient_buckets(), of the model's order backwards.
    /// options     of the optimizer that steps the shards.
    /// comm        outlives this. Collective: every rank makes backward() and step().
    ///
    /// Errors      std::invalid_argument, before anything is changed, for other parameters or limits.
    Zero2(
        std::vector<at::Tensor> parameters,
        std::span<const std::size_t> limits,
        const nn::OptimizerOptions& options,
        const Communicator& comm
    );

    /// From here on, backward leaves the parameters alone.
    ~Zero2();
    Zero2(const Zero2&) = delete;
    Zero2& operator=(const Zero2&) = delete;
    Zero2(Zero2&&) = delete;
    Zero2& operator=(Zero2&&) = delete;

    /// Throws all gradients away: the shards, and what a backward that ended with an error left behind.
    void zero_grad();

    /// Steps this rank's shards by the mean of all ranks' gradients, each divided by p before they are added
    /// up, and collects the others' shards. Where backward ran several times since zero_grad(), by the sum of
    /// the means; where it did not, no parameter changes.
    ///
    /// A gradient that backward did not bring, on this rank or on any, counts as zeros. Buckets meet in one
    /// order, on all ranks the same, in whatever order their gradients come: a full one waits for those
    /// before it, and when backward ends all meet that have not.
    ///
    /// Cost    of each backward: for each bucket p-1 messages of a shard, one ring reduce-scatter. Of step():
    ///         for each bucket p-1 messages of a shard, one ring all-gather.
    /// Errors  dist::Error if a message fails, out of backward() or of step().
    void step();

    /// What steps this rank's shards: one parameter for each bucket, in the order of buckets(). Its gradients
    /// are the rank's shards of the mean. It may be given another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

    /// The plan, in the order in which buckets meet.
    [[nodiscard]] const std::vector<Bucket>& buckets() const;

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
