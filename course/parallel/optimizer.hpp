// The optimizers that --optimizer offers, and the names of all tensors in a checkpoint.
#pragma once

#include <string>
#include <vector>

#include <torch/ordered_dict.h>

#include "course/nn/optimizer.hpp"
#include "course/parallel/options.hpp"
#include "course/parallel/state_dict.hpp"

namespace dist::trainer {

/// What `options` ask for.
nn::OptimizerOptions optimizer_options(const ParallelOptions& options);

/// "model.NAME": a parameter or a buffer, in a checkpoint.
std::string model_name(const std::string& tensor);

/// "optimizer.NAME.exp_avg": what is kept of a parameter, in a checkpoint.
std::string optimizer_name(const std::string& parameter, const std::string& kept);

/// What `state` has of a parameter; empty if nothing.
nn::OptimizerState optimizer_state_of(const std::string& parameter, const StateDict& state);

using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

/// What the optimizer keeps of each parameter, as "optimizer.NAME.exp_avg": nothing of one that has
/// taken no step yet.
///
/// parameters  the optimizer's, in its order.
StateDict optimizer_state(const nn::Optimizer& optimizer, const NamedTensors& parameters);

/// Takes what optimizer_state() gave.
void load_optimizer_state(
    nn::Optimizer& optimizer, const NamedTensors& parameters, const StateDict& state
);

}  // namespace dist::trainer
