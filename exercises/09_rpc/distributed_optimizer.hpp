// Exercise 09: an optimizer for parameters that lie on other ranks.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/rpc.hpp"
#include "exercises/09_rpc/dist_autograd.hpp"

namespace dist {

/// A parameter, wherever it is.
struct RemoteParameter {
    int owner = 0;
    std::string name = {};  // there

    auto operator<=>(const RemoteParameter&) const = default;
};

/// A rank's own parameters, which optimizers on all ranks may step. Each rank that has some makes
/// one.
class ParameterOwner {
  public:
    /// What is in a context here: [&](ContextId id) { return autograd.gradients(id); }
    using GradientsIn = std::function<Gradients(ContextId)>;

    /// rpc  outlives this, and is called by nobody when this is gone.
    ParameterOwner(Rpc& rpc, GradientsIn gradients);
    ~ParameterOwner();
    ParameterOwner(const ParameterOwner&) = delete;
    ParameterOwner& operator=(const ParameterOwner&) = delete;

    /// From now on optimizers that are made may have it.
    ///
    /// Errors  std::invalid_argument if there is one of this name.
    void add(const std::string& name, const at::Tensor& parameter);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// Steps parameters on their owners, each by an nn::Optimizer there, which is this object's alone:
/// two objects have a momentum each. The owners keep it for as long as they live.
///
/// Source  PyTorch, torch/distributed/optim/optimizer.py, DistributedOptimizer.
class DistributedOptimizer {
  public:
    /// rpc         outlives this.
    /// parameters  each once.
    ///
    /// Cost    one call to each owner, all at a time.
    /// Errors  std::invalid_argument, before any call, if there is no parameter, or one twice.
    ///         RemoteError if an owner has no parameter of that name, or as Rpc::wait(): of the
    ///         first such owner by rank, when all owners have answered.
    DistributedOptimizer(
        Rpc& rpc,
        const nn::OptimizerOptions& options,
        const std::vector<RemoteParameter>& parameters
    );
    ~DistributedOptimizer();
    DistributedOptimizer(const DistributedOptimizer&) = delete;
    DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

    /// One step, by the gradients that are in the context on each owner. A parameter without one
    /// stays as it is, as does what is kept of it. On an owner nobody else's step comes between.
    /// Gradients stay in the context, and no parameter's .grad() has a part in it.
    ///
    /// Cost    one call to each owner, all at a time.
    /// Errors  RemoteError if an owner throws, or as Rpc::wait(): of the first such owner by rank,
    ///         when all owners have answered. The other owners have stepped then.
    void step(ContextId context);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
