// The optimizers that --optimizer offers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>

#include "course/trainer/options.hpp"
#include "course/trainer/state_dict.hpp"

namespace dist::trainer {

/// The optimizer that `options` ask for, of these parameters.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Options& options, std::vector<at::Tensor> parameters
);

/// The learning rate of the next step.
void set_rate(torch::optim::Optimizer& optimizer, double rate);

using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

/// What the optimizer remembers of each parameter, as "optimizer.NAME.exp_avg": nothing of one that has
/// taken no step yet.
StateDict optimizer_state(torch::optim::Optimizer& optimizer, const NamedTensors& parameters);

/// Takes what optimizer_state() gave.
void load_optimizer_state(
    torch::optim::Optimizer& optimizer, const NamedTensors& parameters, const StateDict& state
);

}  // namespace dist::trainer
