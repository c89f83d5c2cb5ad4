#include "course/trainer/parallel/optimizer.hpp"

#include <ATen/ops/full.h>
#include <sstream>
#include <type_traits>
#include <utility>

#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

namespace dist::trainer {

namespace {

/// What an optimizer finds a parameter's state by: its address, as text in LibTorch 1.13, as such in 2.x.
template <class Key>
Key key_of(const at::Tensor& parameter) {
    if constexpr (std::is_same_v<Key, std::string>) {
        std::ostringstream text;
        text << parameter.unsafeGetTensorImpl();
        return text.str();
    } else {
        return parameter.unsafeGetTensorImpl();
    }
}
using States = std::remove_cvref_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;
using Key = States::key_type;

/// The state of an optimizer's kind as tensors.
StateDict to_tensors(const torch::optim::OptimizerParamState& state) {
    if (const auto* const sgd = dynamic_cast<const torch::optim::SGDParamState*>(&state)) {
        return {{"momentum_buffer", sgd->momentum_buffer()}};
    }
    const auto& adam = dynamic_cast<const torch::optim::AdamWParamState&>(state);
    return {
        {"step", at::full({}, adam.step(), at::kLong)},
        {"exp_avg", adam.exp_avg()},
        {"exp_avg_sq", adam.exp_avg_sq()}};
}

std::unique_ptr<torch::optim::OptimizerParamState> from_tensors(const StateDict& state) {
    if (state.contains("momentum_buffer")) {
        auto sgd = std::make_unique<torch::optim::SGDParamState>();
        sgd->momentum_buffer(state.at("momentum_buffer"));
        return sgd;
    }
    auto adam = std::make_unique<torch::optim::AdamWParamState>();
    adam->step(state.at("step").item<std::int64_t>());
    adam->exp_avg(state.at("exp_avg"));
    adam->exp_avg_sq(state.at("exp_avg_sq"));
    return adam;
}

std::string prefix_of(const std::string& parameter) {
    return "optimizer." + parameter + ".";
}

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Options& options, std::vector<at::Tensor> parameters
) {
    using namespace torch::optim;
    if (options.optimizer == "adamw") {
        return std::make_unique<AdamW>(
            std::move(parameters), AdamWOptions(options.rate).weight_decay(options.weight_decay)
        );
    }
    return std::make_unique<SGD>(
        std::move(parameters), SGDOptions(options.rate)
                                   .momentum(options.momentum)
                                   .weight_decay(options.weight_decay)
                                   .nesterov(options.momentum > 0)
    );
}

void set_rate(torch::optim::Optimizer& optimizer, double rate) {
    for (torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
        group.options().set_lr(rate);
    }
}

StateDict optimizer_state(torch::optim::Optimizer& optimizer, const NamedTensors& parameters) {
    StateDict all;
    for (const auto& parameter : parameters) {
        const auto found = optimizer.state().find(key_of<Key>(parameter.value()));
        if (found != optimizer.state().end()) {
            for (const auto& [name, tensor] : to_tensors(*found->second)) {
                all[prefix_of(parameter.key()) + name] = tensor;
            }
        }
    }
    return all;
}

void load_optimizer_state(
    torch::optim::Optimizer& optimizer, const NamedTensors& parameters, const StateDict& state
) {
    optimizer.state().clear();
    for (const auto& parameter : parameters) {
        const std::string prefix = prefix_of(parameter.key());
        StateDict own;
        for (auto i = state.lower_bound(prefix); i != state.end() && i->first.starts_with(prefix);
             ++i) {
            const bool counts = i->second.dim() == 0;  // as "step" does, on the host
            own[i->first.substr(prefix.size())] =
                counts ? i->second : i->second.to(parameter.value().device());
        }
        if (!own.empty()) {
            optimizer.state()[key_of<Key>(parameter.value())] = from_tensors(own);
        }
    }
}

}  // namespace dist::trainer
