// Flat lists of numbers in the place of a structure for each bucket; gradients are copied, then multiplied.
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/07_zero/zero1.hpp"
#include "exercises/07_zero/zero2.hpp"

namespace dist {

struct Zero2::State {
    std::vector<at::Tensor> parameters;
    const Communicator& comm;
    std::vector<Bucket> buckets = {};
    std::vector<std::size_t> bucket_of = {};
    std::vector<std::int64_t> begin_of = {};
    std::vector<at::Tensor> weights = {};
    std::vector<at::Tensor> gradients = {};
    std::vector<nn::Optimizer> optimizer = {};
    std::vector<bool> came = {};
    std::size_t next = 0;
    bool asked = false;
    std::vector<nn::GradientHook> hooks = {};

    at::Tensor& row(std::size_t b) {
        if (!gradients[b].defined()) {
            gradients[b] = at::zeros(weights[b].sizes());
        }
        return gradients[b];
    }

    void begin_anew() {
        came.assign(parameters.size(), false);
        gradients.assign(buckets.size(), {});
        next = 0;
        asked = false;
        for (const at::Tensor& parameter : parameters) {
            parameter.mutable_grad() = at::Tensor();
        }
    }

    void send() {
        const at::Tensor full = row(next);
        gradients[next].reset();
        ring_reduce_scatter(nn::floats(full), ReduceOp::sum, comm);
        const at::Tensor& shard = optimizer[0].parameters()[next];
        at::Tensor& held = shard.mutable_grad();
        if (!held.defined()) {
            held = at::zeros(shard.sizes());
        }
        held.add_(shard_of(full, comm));
        ++next;
    }

    void arrived(std::size_t i) {
        if (!asked) {
            asked = true;
            nn::at_end_of_backward([this] {
                while (next < buckets.size()) {
                    send();
                }
                begin_anew();
            });
        }
        const at::Tensor gradient = parameters[i].grad();
        parameters[i].mutable_grad() = at::Tensor();
        row(bucket_of[i])
            .slice(0, begin_of[i], begin_of[i] + gradient.numel())
            .copy_(gradient.reshape({-1}))
            .mul_(1.0 / comm.size());
        came[i] = true;
        const auto has_come = [this](std::size_t k) { return came[k]; };
        while (next < buckets.size() && std::ranges::all_of(buckets[next], has_come)) {
            send();
        }
    }
};

Zero2::Zero2(
    std::vector<at::Tensor> parameters,
    std::span<const std::size_t> limits,
    const nn::OptimizerOptions& options,
    const Communicator& comm
)
    : state_(new State{std::move(parameters), comm}) {
    State& state = *state_;
    nn::expect_trainable(state.parameters, "Zero2");
    std::vector<std::size_t> order;
    for (std::size_t i = state.parameters.size(); i > 0; --i) {
        order.push_back(i - 1);
    }
    state.buckets = gradient_buckets(state.parameters, order, limits);
    state.bucket_of.resize(order.size());
    state.begin_of.resize(order.size());
    std::vector<at::Tensor> shards;
    for (std::size_t b = 0; b < state.buckets.size(); ++b) {
        std::vector<at::Tensor> members;
        std::int64_t begin = 0;
        for (const std::size_t i : state.buckets[b]) {
            members.push_back(state.parameters[i]);
            state.bucket_of[i] = b;
            state.begin_of[i] = begin;
            begin += state.parameters[i].numel();
        }
        state.weights.push_back(flatten_parameters(members, comm.size()));
        shards.push_back(shard_of(state.weights[b], comm));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        state.hooks.emplace_back(state.parameters[i], [&state, i] { state.arrived(i); });
    }
    state.optimizer.emplace_back(options, shards);
    state.begin_anew();
}

Zero2::~Zero2() = default;

void Zero2::zero_grad() {
    for (const at::Tensor& shard : state_->optimizer[0].parameters()) {
        shard.mutable_grad() = at::Tensor();
    }
    state_->begin_anew();
}

void Zero2::step() {
    optimizer().step();
    for (std::size_t b = 0; b < state_->weights.size(); ++b) {
        ring_all_gather(nn::floats(state_->weights[b]), state_->comm);
    }
}

nn::Optimizer& Zero2::optimizer() {
    return state_->optimizer[0];
}

const std::vector<Bucket>& Zero2::buckets() const {
    return state_->buckets;
}

}  // namespace dist
