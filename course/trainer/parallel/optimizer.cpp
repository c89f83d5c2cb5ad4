#include "course/trainer/parallel/optimizer.hpp"

namespace dist::trainer {

namespace {

std::string prefix_of(const std::string& parameter) {
    return "optimizer." + parameter + ".";
}

}  // namespace

nn::OptimizerOptions optimizer_options(const Options& options) {
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
            all[prefix_of(parameters[i].key()) + name] = tensor;
        }
    }
    return all;
}

void load_optimizer_state(
    nn::Optimizer& optimizer, const NamedTensors& parameters, const StateDict& state
) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::string prefix = prefix_of(parameters[i].key());
        nn::OptimizerState own;
        for (auto at = state.lower_bound(prefix);
             at != state.end() && at->first.starts_with(prefix); ++at) {
            own[at->first.substr(prefix.size())] = at->second.to(parameters[i].value().device());
        }
        optimizer.load_state(i, own);
    }
}

}  // namespace dist::trainer
