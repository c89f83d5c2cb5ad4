#include "course/trainer/replica_state.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <cstddef>
#include <utility>

#include <torch/utils.h>

#include "course/nn/rows.hpp"
#include "course/parallel/optimizer.hpp"

namespace dist::trainer {

namespace {

constexpr std::int64_t kResults = 2;

std::vector<std::string> names_of_kept(const ParallelOptions& options) {
    if (options.optimizer == "adamw") {
        return {"exp_avg", "exp_avg_sq"};
    }
    return options.momentum > 0 ? std::vector<std::string>{"momentum_buffer"}
                                : std::vector<std::string>{};
}

std::int64_t elements_of(const std::vector<at::Tensor>& tensors) {
    std::int64_t sum = 0;
    for (const at::Tensor& one : tensors) {
        sum += one.numel();
    }
    return sum;
}

/// The next parts of a row, with the shapes of these tensors.
std::vector<at::Tensor> take_parts(
    const at::Tensor& row, std::int64_t& begin, const std::vector<at::Tensor>& like
) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& one : like) {
        parts.push_back(row.narrow(0, begin, one.numel()).view(one.sizes()));
        begin += one.numel();
    }
    return parts;
}

void copy_all(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i].copy_(from[i]);
    }
}

std::vector<at::Tensor> float_buffers(const nn::Model& model) {
    std::vector<at::Tensor> buffers;
    for (const at::Tensor& buffer : model.buffers()) {
        if (buffer.is_floating_point()) {
            buffers.push_back(buffer);
        }
    }
    return buffers;
}

}  // namespace

ReplicaState::ReplicaState(const ParallelOptions& options, std::shared_ptr<nn::Model> model)
    : model_(std::move(model)),
      parameters_(model_->parameters()),
      buffers_(float_buffers(*model_)),
      optimizer_(optimizer_options(options), parameters_),
      kept_names_(names_of_kept(options)) {
    const torch::NoGradGuard no_grad;
    const std::int64_t weights = elements_of(parameters_);
    const std::int64_t statistics = elements_of(buffers_);
    const auto copies = static_cast<std::int64_t>(1 + kept_names_.size());
    row_ = at::zeros({copies * weights + statistics});
    std::int64_t place = 0;
    const std::vector<at::Tensor> parts = take_parts(row_, place, parameters_);
    copy_all(parts, parameters_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parameters_[i].set_data(parts[i]);
    }
    statistics_ = take_parts(row_, place, buffers_);
    copy_all(statistics_, buffers_);
    for (std::size_t k = 0; k < kept_names_.size(); ++k) {
        kept_.push_back(take_parts(row_, place, parameters_));
    }

    mean_ = at::zeros({weights + statistics + kResults});
    place = 0;
    gradients_ = take_parts(mean_, place, parameters_);
    mean_statistics_ = take_parts(mean_, place, buffers_);
    results_ = mean_.narrow(0, place, kResults);
    set_steps(0);
}

std::span<float> ReplicaState::row() const {
    return nn::floats(row_);
}

std::span<float> ReplicaState::mean() const {
    return nn::floats(mean_);
}

void ReplicaState::begin_step() {
    optimizer_.zero_grad();
    copy_all(buffers_, statistics_);
}

void ReplicaState::gather(double weight, const at::Tensor& loss, const at::Tensor& accuracy) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        gradients_[i].copy_(parameters_[i].grad());
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        mean_statistics_[i].copy_(buffers_[i].mul(weight));
    }
    results_[0].copy_(loss);
    results_[1].copy_(accuracy.mul(weight));
}

void ReplicaState::step(double rate) {
    copy_all(statistics_, mean_statistics_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        parameters_[i].mutable_grad() = gradients_[i];
    }
    optimizer_.set_rate(rate);
    optimizer_.step();
    ++steps_;
}

void ReplicaState::set_steps(std::int64_t steps) {
    steps_ = steps;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        nn::OptimizerState own;
        for (std::size_t k = 0; k < kept_names_.size(); ++k) {
            own[kept_names_[k]] = kept_[k][i];
        }
        own["step"] = at::full({}, steps, at::kLong);  // of adamw
        optimizer_.load_state(i, own);
    }
}

StateDict ReplicaState::named() {
    StateDict all;
    const auto parameters = model_->named_parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        all[model_name(parameters[i].key())] = parameters_[i].detach();
        for (std::size_t k = 0; k < kept_names_.size(); ++k) {
            all[optimizer_name(parameters[i].key(), kept_names_[k])] = kept_[k][i];
        }
    }
    for (const auto& buffer : model_->named_buffers()) {
        all[model_name(buffer.key())] = buffer.value();
    }
    return all;
}

StateDict ReplicaState::state_dict() {
    begin_step();
    for (at::Tensor& buffer : model_->buffers()) {
        if (!buffer.is_floating_point()) {
            buffer.fill_(steps_);  // how many batches a normalisation has seen
        }
    }
    StateDict all = named();
    if (kept_names_.size() == 2) {
        for (const auto& parameter : model_->named_parameters()) {
            all[optimizer_name(parameter.key(), "step")] = at::full({}, steps_, at::kLong);
        }
    }
    return all;
}

void ReplicaState::load_state_dict(const StateDict& state, std::int64_t steps) {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : named()) {
        tensor.copy_(state.at(name));
    }
    copy_all(statistics_, buffers_);
    set_steps(steps);
}

}  // namespace dist::trainer
