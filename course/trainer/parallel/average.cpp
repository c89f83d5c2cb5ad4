#include "course/trainer/parallel/average.hpp"

#include <utility>

#include <torch/utils.h>

#include "course/trainer/parallel/optimizer.hpp"
#include "course/trainer/parallel/replicas.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

/// Parameters and buffers, by the names that they have in a checkpoint.
StateDict all_tensors(const nn::Model& model) {
    StateDict all;
    for (const auto& tensors : {model.named_parameters(), model.named_buffers()}) {
        for (const auto& tensor : tensors) {
            all["model." + tensor.key()] = tensor.value();
        }
    }
    return all;
}

}  // namespace

Average::Average(const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm)
    : comm_(comm),
      model_(std::move(model)),
      parameters_(model_->parameters()),
      optimizer_(make_optimizer(options, parameters_)) {
    // every replica was made with weights of its own; from here on they are rank 0's
    broadcast_parameters(parameters_, 0, comm_);
}

void Average::zero_gradients() {
    // not zeroed in place: average_gradients may have left a view, which cannot be
    for (at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
}

at::Tensor Average::forward(const at::Tensor& pictures) {
    return model_->forward(pictures);
}

void Average::exchange_gradients() {
    if (comm_.size() > 1) {  // alone they are their own mean
        average_gradients(parameters_, comm_);
    }
}

void Average::step(double rate) {
    set_rate(*optimizer_, rate);
    optimizer_->step();
}

void Average::expect_equal(std::size_t done) const {
    expect_equal_replicas(parameters_, comm_, done, "average_gradients");
}

StateDict Average::state_dict() const {
    StateDict state = optimizer_state(*optimizer_, model_->named_parameters());
    for (const auto& [name, tensor] : all_tensors(*model_)) {
        state[name] = tensor;
    }
    return state;
}

void Average::load_state_dict(const StateDict& state) {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : all_tensors(*model_)) {
        tensor.copy_(state.at(name));
    }
    load_optimizer_state(*optimizer_, model_->named_parameters(), state);
}

}  // namespace dist::trainer
