// Exercise 06: backward itself sends the gradients, bucket by bucket.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"

namespace dist {

/// Sends a bucket whose gradients are all there: starts to add `flat` up over all ranks, in place, and returns
/// a future that is ready when the sum is there. The Reducer has divided the gradients by p before, so the sum
/// is their mean. c10d calls this a communication hook.
using CommHook = std::function<std::future<void>(const at::Tensor& flat)>;

/// The simplest hook: ring_all_reduce(). The sum is there when a call returns; its future need not be waited for.
///
/// comm    outlives the hook. Every rank of `comm` calls the hook.
///
/// Cost    a call: one ring all-reduce, 2(p-1) messages.
/// Errors  of a call: std::invalid_argument, before any message, if `flat` is not float32; dist::Error, from
///         the call or out of the future, if a message fails.
CommHook all_reduce_hook(const Communicator& comm);

/// Makes every gradient its mean over all ranks, while backward computes others: c10d's Reducer. A step of
/// training:
///
///     // throw gradients away, or set them to zero
///     const at::Tensor loss = ...;         // forward
///     reducer.prepare_for_backward();
///     loss.backward();                     // full buckets leave
///     reducer.finalize_backward();         // waits for them
///     // the optimizer's step
///
/// Writes gradient / p, or gradient * (1 / p), into its place in the bucket, wherever backward left the gradient,
/// also where its elements lie in another order. It divides before the sum: the sum of p gradients may be too
/// large for a float where their mean is not. A gradient that is not there counts as zeros.
///
/// Source  torch/csrc/distributed/c10d/reducer.cpp, mark_variable_ready_dense.
class Reducer {
  public:
    /// parameters  the model's: leaves in float32 that require gradients, each once, the same on every rank.
    ///             flatten_gradients() makes their gradients views into one flat tensor for each bucket; they are
    ///             so again after each pass that finalize_backward() has ended without an error. The plan is
    ///             gradient_buckets() of the model's order backwards.
    /// limits      bytes, for gradient_buckets(); the same on every rank.
    /// hook        is called once for each bucket in a backward pass, on the thread that runs backward, or in
    ///             prepare_for_backward(); at the latest in finalize_backward(). Until that returns, only the
    ///             hook may use its communicator.
    /// comm        outlives the Reducer. Only prepare_for_backward() sends messages on it.
    ///
    /// Errors      std::invalid_argument as gradient_buckets(); also if a parameter requires no gradient, is
    ///             no leaf, or stands there twice. All gradients stay as they were then.
    Reducer(
        std::vector<at::Tensor> parameters,
        std::vector<std::size_t> limits,
        CommHook hook,
        const Communicator& comm
    );

    /// Backward only adds to gradients from here on.
    ~Reducer();
    Reducer(const Reducer&) = delete;
    Reducer& operator=(const Reducer&) = delete;
    Reducer(Reducer&&) = delete;
    Reducer& operator=(Reducer&&) = delete;

    /// Has the next backward exchange its gradients. A bucket's hook is called when its last gradient is there
    /// and the hooks of all buckets before it have been called. So every rank calls them in the same order, in
    /// whatever order its gradients come. Without this call, or after finalize_backward(), backward adds to
    /// gradients and does nothing else. This call forgets a pass that was prepared and not finalized.
    ///
    /// The first call after a prepared pass in which all parameters were ready makes the plan anew, once: of the
    /// order in which they were ready on rank 0, which is broadcast. Gradients keep their values.
    ///
    /// unused  numbers of parameters that this backward brings no gradient for, each once: they are ready
    ///         before all others. What their gradients hold is divided and exchanged like all others'. A bucket
    ///         of them alone may leave at once.
    ///
    /// Cost    where the plan is made anew, collective: a broadcast() of one float for each parameter. All other
    ///         calls send nothing, but for buckets that leave at once.
    /// Errors  std::invalid_argument, before any message, if `unused` holds a number that is no parameter's.
    ///         Where a bucket leaves at once, what its hook throws; call prepare_for_backward() again then.
    void prepare_for_backward(std::span<const std::size_t> unused = {});

    /// Returns when every bucket is through: gradients are means over all ranks. Does nothing where no backward
    /// is prepared. None is prepared afterwards, also if it throws.
    ///
    /// Errors  std::logic_error that names the parameters, by their numbers, for which no gradient came; it asks
    ///         no future then. Else it waits for all that the hooks returned, and throws the first error among
    ///         them, of whatever type.
    ///         backward() itself throws what a call of the hook throws; and a std::logic_error, whose text has
    ///         that parameter's number and no other, if a gradient comes twice after one prepare_for_backward():
    ///         its bucket may have left. After either, gradients have any value.
    void finalize_backward();

    /// The plan, in the order in which the hooks are called.
    [[nodiscard]] const std::vector<Bucket>& buckets() const;

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
