#include "course/parallel/zero3.hpp"

#include <ATen/ops/zeros.h>
#include <utility>

#include <torch/utils.h>

#include "course/nn/memory.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/same_bits.hpp"
#include "course/parallel/stop.hpp"
#include "course/parallel/together.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

Key model_key() {
    return [](const std::string& name) { return model_name(name); };
}

/// The number of the copy that this rank has a shard of.
int copy_of(const ParallelOptions& options, const Communicator& comm) {
    const int n = options.shard_ranks == 0 ? comm.size() : options.shard_ranks;
    if (comm.size() % n != 0) {
        throw Stop(
            "--shard-ranks " + std::to_string(n) + " does not divide the " +
            std::to_string(comm.size()) + " ranks that share the weights"
        );
    }
    return comm.rank() / n;
}

}  // namespace

ShardedModel::ShardedModel(
    const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
)
    : comm_(comm),
      shards_(comm.split(copy_of(options, comm))),
      copies_(comm.split(shards_.rank())),
      messages_(shards_.dup()),
      model_(std::move(model)) {
    broadcast_parameters(model_->parameters(), 0, comm_);
    std::vector<FsdpUnit> units;
    const auto named = model_->named_parameters();
    std::size_t i = 0;
    for (const nn::Part& part : model_->parts()) {
        units.push_back({part.parameters});
        NamedRow& row = rows_.emplace_back();
        for (const at::Tensor& parameter : part.parameters) {
            row.names.push_back(named[i++].key());
            row.shapes.push_back(parameter.sizes().vec());
        }
    }
    zero_ = std::make_unique<Zero3>(std::move(units), optimizer_options(options), messages_);
}

void ShardedModel::zero_gradients() {
    zero_->zero_grad();
}

at::Tensor ShardedModel::forward(const at::Tensor& inputs) {
    if (has_weights_) {
        return model_->forward(inputs);
    }
    at::Tensor x = inputs;
    for (std::size_t u = 0; u < model_->parts().size(); ++u) {
        const std::int64_t n = zero_->optimizer().parameters()[u].numel() * shards_.size();
        std::optional<Noted> noted(
            std::in_place, messages_, FlightCall{.name = "all_gather", .count = n},
            SourceLine::here()
        );
        x = zero_->forward(u, [&] {
            noted.reset();  // the weights are there
            return model_->parts()[u].forward(x);
        });
    }
    return x;
}

void ShardedModel::prepare_for_backward(const at::Tensor& /*loss*/) {
    backward_.emplace(shards_, FlightCall{.name = "backward", .count = -1}, SourceLine::here());
}

void ShardedModel::exchange_gradients() {
    backward_.reset();
    if (copies_.size() > 1) {  // what is there is the mean over one copy's ranks
        const nn::MemoryScope scope(nn::MemoryKind::gradients);
        const Noted noted(copies_, {.name = "all_reduce", .count = -1, .op = "mean"});
        average_gradients(zero_->optimizer().parameters(), copies_);
    }
}

void ShardedModel::step(double rate) {
    zero_->optimizer().set_rate(rate);
    zero_->step();
}

void ShardedModel::with_weights(const std::function<void()>& body) {
    const torch::NoGradGuard no_grad;
    // each part's weights are there while those behind it are asked for
    const std::function<void(std::size_t)> from = [&](std::size_t part) {
        if (part == model_->parts().size()) {
            has_weights_ = true;
            body();
            return;
        }
        zero_->forward(part, [&] {
            from(part + 1);
            return at::zeros({});
        });
    };
    try {
        from(0);
    } catch (...) {
        has_weights_ = false;
        throw;
    }
    has_weights_ = false;
}

void ShardedModel::expect_equal(std::size_t done) const {
    constexpr int kWentWrong = 1;
    const auto expect = [&] {
        expect_same_bits(zero_->optimizer().parameters(), done, "average_gradients", copies_);
    };
    together(comm_, expect, kWentWrong);
}

StateDict ShardedModel::state_dict() const {
    StateDict state;
    for (std::size_t u = 0; u < rows_.size(); ++u) {
        collect(state, rows_[u], model_key(), zero_->optimizer().parameters()[u], shards_);
    }
    for (const auto& buffer : model_->named_buffers()) {
        state[model_name(buffer.key())] = buffer.value().clone();
    }
    collect_optimizer_state(state, rows_, zero_->optimizer(), shards_);
    return state;
}

std::vector<StatePart> ShardedModel::parts() const {
    std::vector<StatePart> parts;
    if (copies_.rank() != 0) {
        return parts;  // another rank has the same
    }
    for (std::size_t u = 0; u < rows_.size(); ++u) {
        add_parts(parts, rows_[u], model_key(), zero_->optimizer().parameters()[u], shards_);
    }
    for (const auto& buffer : model_->named_buffers()) {
        parts.push_back(first_part(model_name(buffer.key()), buffer.value(), shards_));
    }
    add_optimizer_parts(parts, rows_, zero_->optimizer(), shards_);
    return parts;
}

void ShardedModel::load_state_dict(const StateDict& state) {
    const torch::NoGradGuard no_grad;
    for (std::size_t u = 0; u < rows_.size(); ++u) {
        zero_->optimizer().parameters()[u].copy_(cut(state, rows_[u], model_key(), shards_));
    }
    for (const auto& buffer : model_->named_buffers()) {
        buffer.value().copy_(state.at(model_name(buffer.key())));
    }
    load_sharded_optimizer_state(zero_->optimizer(), rows_, state, shards_);
}

}  // namespace dist::trainer
