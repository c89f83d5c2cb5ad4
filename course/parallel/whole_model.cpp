#include "course/parallel/whole_model.hpp"

#include <utility>

#include <torch/utils.h>

#include "course/parallel/device.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/same_bits.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

/// Parameters and buffers, by the names that they have in a checkpoint.
StateDict all_tensors(const nn::Model& model) {
    StateDict all;
    for (const auto& tensors : {model.named_parameters(), model.named_buffers()}) {
        for (const auto& tensor : tensors) {
            all[model_name(tensor.key())] = tensor.value();
        }
    }
    return all;
}

}  // namespace

WholeModel::WholeModel(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    const Communicator& comm,
    std::string author
)
    : comm_(comm),
      model_(std::move(model)),
      parameters_(model_->parameters()),
      author_(std::move(author)) {
    // every replica was made with weights of its own; from here on they are rank 0's
    broadcast_parameters(parameters_, 0, comm_);
    model_->to(device_of(options, comm_.rank()));  // the parameters stay the same ones
}

void WholeModel::prepare_for_backward(const at::Tensor& /*loss*/) {}

std::int64_t WholeModel::elements() const {
    std::int64_t n = 0;
    for (const at::Tensor& parameter : parameters_) {
        n += parameter.numel();
    }
    return n;
}

at::Tensor WholeModel::forward(const at::Tensor& inputs) {
    return model_->forward(inputs);
}

void WholeModel::expect_equal(std::size_t done) const {
    expect_same_bits(parameters_, done, author_, comm_);
}

StateDict WholeModel::state_dict() const {
    StateDict state = all_tensors(*model_);
    for (auto& [name, tensor] : state) {
        // to be read without a GPU as well; and no part of a row
        tensor = tensor.cpu().contiguous().clone();
    }
    return state;
}

std::vector<StatePart> WholeModel::model_parts() const {
    std::vector<StatePart> parts;
    for (const auto& parameter : model_->named_parameters()) {
        parts.push_back(equal_part(model_name(parameter.key()), parameter.value(), comm_));
    }
    for (const auto& buffer : model_->named_buffers()) {
        parts.push_back(first_part(model_name(buffer.key()), buffer.value(), comm_));
    }
    return parts;
}

void WholeModel::load_state_dict(const StateDict& state) {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : all_tensors(*model_)) {
        tensor.copy_(state.at(name));
    }
}

}  // namespace dist::trainer
