#include "course/trainer/parallel/zero1.hpp"

#include <ATen/ops/zeros.h>
#include <utility>

#include "course/nn/rows.hpp"
#include "course/trainer/parallel/optimizer.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist::trainer {

namespace {

/// Elements of the row that all parameters lie in.
std::int64_t row_length(const nn::Optimizer& optimizer, const Communicator& comm) {
    return optimizer.parameters()[0].numel() * comm.size();
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(
    const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm
)
    : WholeModel(options, std::move(model), comm, "zero1"),
      optimizer_(std::make_unique<Zero1>(parameters(), optimizer_options(options), comm)) {}

void ShardedOptimizer::zero_gradients() {
    optimizer_->zero_grad();
}

void ShardedOptimizer::exchange_gradients() {}

void ShardedOptimizer::step(double rate) {
    optimizer_->optimizer().set_rate(rate);
    optimizer_->step();
}

StateDict ShardedOptimizer::state_dict() const {
    StateDict state = WholeModel::state_dict();
    const nn::Optimizer& optimizer = optimizer_->optimizer();
    for (const auto& [name, kept] : optimizer.state(0)) {
        if (name == "step") {  // a count, which all shards share
            for (const auto& parameter : model().named_parameters()) {
                state[optimizer_name(parameter.key(), name)] = kept;
            }
            continue;
        }
        const at::Tensor row = at::zeros({row_length(optimizer, comm())});
        shard_of(row, comm()).copy_(kept);
        ring_all_gather(nn::floats(row), comm());
        std::int64_t begin = 0;
        for (const auto& parameter : model().named_parameters()) {
            const at::Tensor& like = parameter.value();
            state[optimizer_name(parameter.key(), name)] =
                row.narrow(0, begin, like.numel()).view(like.sizes()).clone();
            begin += like.numel();
        }
    }
    return state;
}

void ShardedOptimizer::load_state_dict(const StateDict& state) {
    WholeModel::load_state_dict(state);
    nn::Optimizer& optimizer = optimizer_->optimizer();
    nn::OptimizerState own;
    std::int64_t begin = 0;
    std::map<std::string, at::Tensor> rows;
    for (const auto& parameter : model().named_parameters()) {
        for (const auto& [name, tensor] : optimizer_state_of(parameter.key(), state)) {
            if (name == "step") {
                own[name] = tensor;
                continue;
            }
            if (!rows.contains(name)) {
                rows[name] = at::zeros({row_length(optimizer, comm())});
            }
            rows[name].narrow(0, begin, tensor.numel()).copy_(tensor.reshape({-1}));
        }
        begin += parameter.value().numel();
    }
    for (const auto& [name, row] : rows) {
        own[name] = shard_of(row, comm()).clone();
    }
    optimizer.load_state(0, own);
}

}  // namespace dist::trainer
