#include "course/parallel/optimizer.hpp"

namespace dist::trainer {

std::string model_name(const std::string& tensor) {
    return "model." + tensor;
}

std::string optimizer_name(const std::string& parameter, const std::string& kept) {
    return "optimizer." + parameter + "." + kept;
}

nn::OptimizerState optimizer_state_of(const std::string& parameter, const StateDict& state) {
    const std::string prefix = optimizer_name(parameter, "");
    nn::OptimizerState own;
    for (auto at = state.lower_bound(prefix); at != state.end() && at->first.starts_with(prefix);
         ++at) {
        own[at->first.substr(prefix.size())] = at->second;
    }
    return own;
}

nn::OptimizerOptions optimizer_options(const ParallelOptions& options) {
    using Kind = nn::OptimizerOptions::Kind;
    return {
        .kind = options.optimizer == "adamw" ? Kind::adamw : Kind::sgd,
        .rate = options.rate,
        .weight_decay = options.weight_decay,
        .momentum = options.momentum,
        .nesterov = options.momentum > 0};
}

StateDict optimizer_state(const nn::Optimizer& optimizer, const NamedTensors& parameters) {
    StateDict all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        for (const auto& [name, tensor] : optimizer.state(i)) {
            all[optimizer_name(parameters[i].key(), name)] = tensor;
        }
    }
    return all;
}

void load_optimizer_state(
    nn::Optimizer& optimizer, const NamedTensors& parameters, const StateDict& state
) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        nn::OptimizerState own = optimizer_state_of(parameters[i].key(), state);
        for (auto& [name, tensor] : own) {
            tensor = tensor.to(parameters[i].value().device());
        }
        optimizer.load_state(i, own);
    }
}

}  // namespace dist::trainer
