// Exercise 09: backward across ranks. What one rank computes from another one's tensors has
// gradients there.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "course/runtime/error.hpp"
#include "course/runtime/rpc.hpp"

namespace dist {

/// Names a context on all ranks: its top 16 bits are the rank that made it. 0: none.
using ContextId = std::int64_t;

/// By identity: a tensor is equal to itself alone.
struct SameTensor {
    bool operator()(const at::Tensor& a, const at::Tensor& b) const {
        return std::less<>()(a.unsafeGetTensorImpl(), b.unsafeGetTensorImpl());
    }
};

/// The gradient of each leaf that has one.
using Gradients = std::map<at::Tensor, at::Tensor, SameTensor>;

/// Messages that a rank has sent and received in a context with tensors that require gradients.
struct Recorded {
    int sends = 0;
    int recvs = 0;

    bool operator==(const Recorded&) const = default;
};

/// Calls with tensors, through which backward() goes. Each rank makes one:
///
///     DistAutograd autograd(rpc);
///     autograd.define("layer", [&](const Tensors& x) { return Tensors{x[0].mul(weight)}; });
///
/// and one of them calls the others, in a context:
///
///     const ContextId context = autograd.new_context();
///     const Tensors y = autograd.call(1, "layer", {x});
///     autograd.backward(context, {y[0].sum()});
///     autograd.gradients(context).at(x);    // and on rank 1, of its weight
///     autograd.release(context);
///
/// An object is used by one thread alone. While it waits, the rank runs what others call.
///
/// Source  PyTorch, Distributed Autograd Design, whose FAST mode waits for all that was sent;
///         torch/csrc/distributed/autograd/engine/dist_engine.cpp.
class DistAutograd {
  public:
    using Tensors = std::vector<at::Tensor>;  // of any dtypes, on the host; undefined ones as well
    using Function = std::function<Tensors(const Tensors& arguments)>;

    /// rpc  outlives this, and is called by nobody when this is gone.
    explicit DistAutograd(Rpc& rpc);
    ~DistAutograd();
    DistAutograd(const DistAutograd&) = delete;
    DistAutograd& operator=(const DistAutograd&) = delete;

    /// From now on other ranks may call it, and this one. It records its graph, whatever this rank
    /// waits in.
    void define(const std::string& name, Function function);

    /// Makes a context, in which this rank's calls are until it is released. What they call is in
    /// it as well, and what that calls in turn. What others call here meanwhile is not: it is in
    /// the caller's context, or in none.
    ///
    /// Errors  std::logic_error where this rank's calls are in a context already.
    ContextId new_context();

    /// Calls a function of rank `to`, and waits for what it returns.
    ///
    /// In a context, and while gradients are recorded here, backward() goes through the call. Of
    /// the arguments, those that require gradients require them there; of the results, those that
    /// require gradients there require them here. All others come as plain tensors, as do all where
    /// nothing is recorded. On both sides tensors may be changed in place afterwards. LibTorch's
    /// own backward() throws dist::Error where it comes to one that was received.
    ///
    /// Cost    one call.
    /// Errors  as Rpc::rpc_async() and wait(). dist::Error if the context has been released.
    Tensors call(int to, const std::string& name, const Tensors& arguments);

    /// Adds to the context's gradients those of the sum of all roots, on every rank to whose leaves
    /// they lead, and returns when all are there. No tensor's .grad() changes. A context can have
    /// several passes, one after the other: the graph is kept until it is released.
    ///
    /// roots   of one element each; computed from something that requires a gradient, so no leaves.
    ///
    /// Cost    At most two calls for each tensor that call() has sent and that the roots lead to.
    ///         Nobody asks, or waits, for others: what the loss does not use costs nothing.
    /// Errors  std::invalid_argument, before any call, for other roots, and for none.
    ///         RemoteError with what was thrown on another rank, however far away; what is thrown
    ///         here; as Rpc::wait(), if a rank has died; dist::Error if the context is not here, or
    ///         is released meanwhile, by whichever rank. All calls of the pass are through then.
    ///         Some ranks have added to their gradients and others have not; the next pass adds
    ///         its own as ever.
    void backward(ContextId context, const Tensors& roots);

    /// What is in the context on this rank. No two gradients share memory.
    ///
    /// Errors  dist::Error, which names the context, if it is not here.
    [[nodiscard]] Gradients gradients(ContextId context) const;

    /// Errors  dist::Error, which names the context, if it is not here.
    [[nodiscard]] Recorded recorded(ContextId context) const;

    /// The contexts that are on this rank: those that it made, and those that a call brought.
    [[nodiscard]] std::vector<ContextId> contexts() const;

    /// Forgets a context here, and on all ranks to which calls have brought it. Who has died does
    /// not matter.
    ///
    /// Errors  dist::Error, which names the context, if it is not here.
    void release(ContextId context);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
