// Exercise 07: each rank keeps a shard of the gradients, too. Backward averages them bucket by bucket.
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
///     loss.backward();      // averages a bucket over the ranks as soon as its last gradient is there
///     optimizer.step();     // each rank steps its shards; all get all parameters
///
/// The parameters of each bucket lie in a row, as flatten_parameters() makes it; rank r steps shard r. The
/// gradients of a bucket have a row as well, from the first one that comes until they are averaged. Then only
/// this rank's shard of the mean is left. After backward no parameter has a gradient.
///
/// When backward has ended, each rank holds memory_model(n, p, ZeroStage::gradients, ...) bytes, added up over
/// the buckets, and not one more. During backward it also holds the gradient that has just come, and the rows
/// of the buckets that are being filled: one row, where gradients come in the order of the buckets.
///
/// Source  Rajbhandari et al. (2020), "ZeRO: Memory optimizations toward training trillion parameter models",
///         section 5.2.
class Zero2 {
  public:
    /// parameters  the model's, in float32: leaves that require gradients, each once, the same on every rank.
    ///             They become views. Older gradients are thrown away.
    /// limits      bytes, for gradient_buckets() with the model's order backwards.
    /// options     of the optimizer that steps the shards.
    /// comm        outlives this. Collective: every rank makes the same calls of backward() and step(), and each
    ///             backward brings the gradient of at least one parameter on every rank.
    ///
    /// Errors      std::invalid_argument, before anything is changed, for other parameters or limits.
    Zero2(
        std::vector<at::Tensor> parameters,
        std::span<const std::size_t> limits,
        const nn::OptimizerOptions& options,
        const Communicator& comm
    );

    /// From here on backward leaves the parameters alone, also where the loss is there already.
    ~Zero2();
    Zero2(const Zero2&) = delete;
    Zero2& operator=(const Zero2&) = delete;
    Zero2(Zero2&&) = delete;
    Zero2& operator=(Zero2&&) = delete;

    /// Throws all gradients away: the shards, and what is left of a backward that ended with an error.
    void zero_grad();

    /// Steps this rank's shards by the mean of all ranks' gradients, and collects the other ranks' shards.
    /// Gradients are divided by p, then added up. If backward ran several times since zero_grad(), steps by the
    /// sum of the means; if it did not run, no parameter changes, also with momentum or weight decay.
    ///
    /// A gradient that backward did not bring, on this rank or on any, counts as zeros. All ranks average the
    /// buckets in the order of buckets(), in whatever order gradients come: a full bucket waits for those before
    /// it, and the end of backward averages the rest.
    ///
    /// Cost    of each backward: for each bucket p-1 messages of a shard, one ring reduce-scatter. Of step():
    ///         for each bucket p-1 messages of a shard, one ring all-gather.
    /// Errors  dist::Error if a message fails, from backward() or step(). zero_grad() makes a new beginning.
    void step();

    /// The optimizer of this rank's shards: one parameter for each bucket, in the order of buckets(). Their
    /// gradients are this rank's shards of the mean. You may set another rate.
    [[nodiscard]] nn::Optimizer& optimizer();

    /// The buckets, in the order in which they are averaged.
    [[nodiscard]] const std::vector<Bucket>& buckets() const;

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
