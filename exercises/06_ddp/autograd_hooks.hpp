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

/// What becomes of a bucket when all its gradients are there: starts to add `flat` up over all ranks, in
/// place, and returns a future that is ready when the sum is there. As the Reducer has divided the
/// gradients by p, the sum is their mean. c10d's name is communication hook.
using CommHook = std::function<std::future<void>(const at::Tensor& flat)>;

/// The plain one: ring_all_reduce(). What it returns need not be waited for: the sum is there.
///
/// comm    outlives the hook. In a call of the hook, collective.
///
/// Cost    a call: one ring all-reduce, 2(p-1) messages.
/// Errors  of a call: std::invalid_argument, before anything is changed, if `flat` is not float32;
///         dist::Error, from the call or out of the future, if a message fails.
CommHook all_reduce_hook(const Communicator& comm);

/// The mean of all gradients over all ranks, made while backward still makes others: c10d's Reducer. A
/// step of training:
///
///     // gradients are thrown away, or set to zero
///     const at::Tensor loss = ...;         // forward
///     reducer.prepare_for_backward();
///     loss.backward();                     // buckets leave as they are full
///     reducer.finalize_backward();         // all have come back
///     // the optimizer's step
///
/// Wherever backward left a gradient, a p-th of it goes into its bucket: no sum is too large then where the
/// mean is not. A gradient that is not there counts as zeros.
///
/// Source  torch/csrc/distributed/c10d/reducer.cpp, mark_variable_ready_dense.
class Reducer {
  public:
    /// parameters  the model's: leaves that require gradients, each once, the same on every rank.
    ///             Their gradients become views into one flat tensor for each bucket, as
    ///             flatten_gradients() makes them, and are so again after each finalize_backward().
    ///             The plan is gradient_buckets() of the model's order backwards.
    /// limits      bytes, for gradient_buckets(); the same on every rank.
    /// hook        is called once for each bucket in a backward pass, on the thread that runs backward,
    ///             or in prepare_for_backward(). Its communicator is nobody else's between that and
    ///             finalize_backward().
    /// comm        outlives the Reducer; messages on it are sent by prepare_for_backward() alone.
    ///
    /// Errors      std::invalid_argument as gradient_buckets(); also if a parameter requires no
    ///             gradient, is no leaf, or stands there twice.
    Reducer(
        std::vector<at::Tensor> parameters,
        std::vector<std::size_t> limits,
        CommHook hook,
        const Communicator& comm
    );

    /// From here on, backward leaves the parameters alone.
    ~Reducer();
    Reducer(const Reducer&) = delete;
    Reducer& operator=(const Reducer&) = delete;
    Reducer(Reducer&&) = delete;
    Reducer& operator=(Reducer&&) = delete;

    /// The next backward exchanges its gradients: a bucket's hook is called when its last gradient is
    /// there, and the hooks of the buckets before it have been called; so every rank calls them in one
    /// order, in whatever order its gradients come. Without this call, or after finalize_backward(),
    /// backward adds to gradients and does nothing else. A pass that was prepared and not finalized is
    /// forgotten.
    ///
    /// The first call after a pass in which all parameters were ready makes the plan anew, once: with the
    /// order in which they were on rank 0, which is broadcast. Gradients keep their values.
    ///
    /// unused  numbers of parameters that this backward brings no gradient for, each once: they are
    ///         ready before all others. A bucket of them alone may leave at once.
    ///
    /// Cost    where the plan is made anew, collective, a broadcast() of one float for each parameter;
    ///         no message in all other calls, but for buckets that leave at once.
    /// Errors  std::invalid_argument, before any message, if `unused` holds a number that is no
    ///         parameter's. Where a bucket leaves at once, what its hook throws.
    void prepare_for_backward(std::span<const std::size_t> unused = {});

    /// Returns when every bucket is through: gradients are means over all ranks. Does nothing where no
    /// backward was prepared; none is afterwards, also if it throws.
    ///
    /// Errors  std::logic_error that names the parameters, by their numbers, which no gradient came for;
    ///         nothing is waited for then. The first error out of what the hooks returned, when all of them
    ///         have been waited for.
    ///         Of backward() itself: what a call of the hook throws; and a std::logic_error, whose text
    ///         has one parameter's number and no other, if that gradient comes twice after one
    ///         prepare_for_backward(), when its bucket may have left.
    void finalize_backward();

    /// The plan, in the order in which the hooks are called.
    [[nodiscard]] const std::vector<Bucket>& buckets() const;

  private:
    struct State;  // what you need to know between two calls; in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
