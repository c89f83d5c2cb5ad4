#include "course/trainer/parallel/average.hpp"

#include <utility>

#include "course/trainer/checkpoint.hpp"
#include "course/trainer/parallel/replicas.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

Average::Average(const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm)
    : comm_(comm),
      model_(std::move(model)),
      parameters_(model_->parameters()),
      optimizer_(
          parameters_,
          torch::optim::SGDOptions(options.rate)
              .momentum(options.momentum)
              .weight_decay(options.weight_decay)
              .nesterov(options.momentum > 0)
      ) {
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
    average_gradients(parameters_, comm_);
}

void Average::step(double rate) {
    static_cast<torch::optim::SGDOptions&>(optimizer_.param_groups()[0].options()).lr(rate);
    optimizer_.step();
}

void Average::expect_equal(std::size_t done) const {
    expect_equal_replicas(parameters_, comm_, done, "average_gradients");
}

void Average::save(torch::serialize::OutputArchive& archive) const {
    save_part(archive, "model", *model_);
    save_part(archive, "optimizer", optimizer_);
}

void Average::load(torch::serialize::InputArchive& archive) {
    load_part(archive, "model", *model_);
    load_part(archive, "optimizer", optimizer_);
}

}  // namespace dist::trainer
