// Ranks that own parameters, with gradients that the test puts into contexts.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "exercises/09_rpc/distributed_optimizer.hpp"
#include "tests/09_rpc/autograd_network.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Tensors = std::vector<at::Tensor>;
using Options = nn::OptimizerOptions;

inline const std::vector<Options> kOptimizers = {
    {.rate = 0.1},
    {.rate = 0.1, .momentum = 0.9},
    {.rate = 0.05, .weight_decay = 0.01, .momentum = 0.8, .nesterov = true},
    {.kind = Options::Kind::adamw, .rate = 0.01, .weight_decay = 0.1},
    {.kind = Options::Kind::adamw, .rate = 0.02, .beta1 = 0.7, .beta2 = 0.95, .epsilon = 1e-3}};

inline std::string name_of(const Options& options) {
    const bool is_sgd = options.kind == Options::Kind::sgd;
    return (is_sgd ? "sgd, momentum " : "adamw, beta1 ") +
           std::to_string(is_sgd ? options.momentum : options.beta1) + ", weight decay " +
           std::to_string(options.weight_decay);
}

/// The gradient of a parameter in a context: some numbers that only they have.
inline at::Tensor gradient_in(ContextId context, int owner, std::size_t i, at::IntArrayRef shape) {
    const auto salt = static_cast<std::uint64_t>(context) * 100 + i;
    return filled(shape, owner, salt).div(7);
}

/// Three ranks, with parameters "a" and "b" each.
class OwnerWorld : public CallWorld {
  public:
    static constexpr std::size_t kEach = 2;

    explicit OwnerWorld(std::uint64_t seed = 1) : CallWorld(3, seed) {
        for (int rank = 0; rank < size(); ++rank) {
            owners_.push_back(std::make_unique<ParameterOwner>(
                rpc(rank), [this, rank](ContextId id) { return gradients(rank, id); }
            ));
            parameters_.push_back(first_weights(rank));
            owners_.back()->add("a", parameters_.back()[0]);
            owners_.back()->add("b", parameters_.back()[1]);
        }
    }

    static Tensors first_weights(int rank) {
        return {filled({2, 3}, rank, 1).requires_grad_(), filled({5}, rank, 2).requires_grad_()};
    }

    [[nodiscard]] ParameterOwner& owner(int rank) {
        return *owners_.at(static_cast<std::size_t>(rank));
    }
    [[nodiscard]] const Tensors& parameters(int rank) const {
        return parameters_.at(static_cast<std::size_t>(rank));
    }

    /// Whether a parameter has a gradient in a context. All have, if the test does not say
    /// otherwise.
    std::function<bool(ContextId context, int owner, std::size_t i)> has_gradient =
        [](ContextId, int, std::size_t) { return true; };
    /// Called when an owner is asked for its gradients.
    std::function<void(int owner, ContextId context)> at_step = [](int, ContextId) {};
    /// By owner: the contexts by which it stepped, in their order.
    std::map<int, std::vector<ContextId>> steps;

    Gradients gradients(int rank, ContextId context) {
        at_step(rank, context);
        steps[rank].push_back(context);
        Gradients all;
        for (std::size_t i = 0; i < kEach; ++i) {
            const at::Tensor& parameter = parameters(rank)[i];
            if (has_gradient(context, rank, i)) {
                all[parameter] = gradient_in(context, rank, i, parameter.sizes());
            }
        }
        return all;
    }

    /// Does this on rank 0; the others serve.
    void on_rank_0(const std::function<void()>& body) {
        const Comparison ended = run({{0, body}});
        CHECK(ended);
    }

  private:
    std::vector<std::unique_ptr<ParameterOwner>> owners_;
    std::vector<Tensors> parameters_;
};

/// The same parameters in one process, with an optimizer for each trainer.
class LocalTraining {
  public:
    explicit LocalTraining(int owner)
        : owner_(owner), parameters_(OwnerWorld::first_weights(owner)) {}

    void add_trainer(int trainer, const Options& options) {
        optimizers_.emplace(trainer, nn::Optimizer(options, parameters_));
    }

    void step(int trainer, ContextId context, const OwnerWorld& world) {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            parameters_[i].mutable_grad() =
                world.has_gradient(context, owner_, i)
                    ? gradient_in(context, owner_, i, parameters_[i].sizes())
                    : at::Tensor();
        }
        optimizers_.at(trainer).step();
    }

    /// Whether the owner's parameters have the same bits.
    [[nodiscard]] Comparison agrees(const OwnerWorld& world) const {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const Comparison result =
                same(elements(world.parameters(owner_)[i]), elements(parameters_[i]));
            if (!result) {
                const std::string name = i == 0 ? "a" : "b";
                return {
                    false, "parameter " + name + " of rank " + std::to_string(owner_) + ": " +
                               result.text};
            }
        }
        return {};
    }

  private:
    int owner_;
    Tensors parameters_;
    std::map<int, nn::Optimizer> optimizers_;
};

inline const std::vector<RemoteParameter> kAll = {{2, "b"}, {0, "a"}, {1, "a"},
                                                  {1, "b"}, {0, "b"}, {2, "a"}};

}  // namespace dist::harness
