#include "exercises/07_zero/zero2.hpp"

#include <numeric>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/gradient_row.hpp"
#include "course/nn/memory.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

struct Zero2::State {
    const Communicator& comm;
    std::vector<Bucket> buckets;
    std::vector<at::Tensor> weights = {};         // the row of each bucket
    std::vector<nn::GradientRow> gradients = {};  // the same, while they come
    nn::Optimizer optimizer = {{}, {}};           // of the rows' shards
    bool running = false;                         // backward is
    std::size_t met = 0;                          // how many buckets have, in this backward
    std::vector<nn::GradientHook> hooks = {};     // the last member: none calls what is gone

    void take(std::size_t bucket, std::size_t k);
    void meet();
    void forget();
};

/// The gradient of the bucket's k-th parameter is there.
void Zero2::State::take(std::size_t bucket, std::size_t k) {
    if (!std::exchange(running, true)) {
        nn::at_end_of_backward([this] {
            while (met < buckets.size()) {
                meet();
            }
            forget();
        });
    }
    gradients[bucket].take(k, 1.0 / comm.size());
    // a full bucket waits for those before it: all ranks send in one order
    while (met < buckets.size() && gradients[met].is_full()) {
        meet();
    }
}

/// The next bucket's gradients are added up over all ranks, and this rank keeps its shard.
void Zero2::State::meet() {
    const at::Tensor row = gradients[met].release();
    ring_reduce_scatter(nn::floats(row), ReduceOp::sum, comm);
    at::Tensor& sum = optimizer.parameters()[met].mutable_grad();
    const nn::MemoryScope scope(nn::MemoryKind::gradients);
    const at::Tensor mean = shard_of(row, comm);
    sum = sum.defined() ? sum.add_(mean) : mean.clone();  // a view would keep the row
    ++met;
}

/// No backward is running.
void Zero2::State::forget() {
    running = false;
    met = 0;
    for (nn::GradientRow& row : gradients) {
        row.clear();
    }
}

Zero2::Zero2(
    std::vector<at::Tensor> parameters,
    std::span<const std::size_t> limits,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    nn::expect_trainable(parameters, "Zero2");
    std::vector<std::size_t> order(parameters.size());
    std::iota(order.rbegin(), order.rend(), 0);
    state_.reset(new State{comm, gradient_buckets(parameters, order, limits)});
    State& state = *state_;
    std::vector<at::Tensor> shards;
    for (std::size_t b = 0; b < state.buckets.size(); ++b) {
        std::vector<at::Tensor> members;
        for (const std::size_t i : state.buckets[b]) {
            const std::size_t k = members.size();
            members.push_back(parameters[i]);
            state.hooks.emplace_back(parameters[i], [&state, b, k] { state.take(b, k); });
        }
        const at::Tensor row = flatten_parameters(members, comm.size());
        state.weights.push_back(row);
        state.gradients.emplace_back(members, row.numel());
        shards.push_back(shard_of(row, comm));
    }
    state.optimizer = nn::Optimizer(options, shards);
}

Zero2::~Zero2() = default;

void Zero2::zero_grad() {
    state_->optimizer.zero_grad();
    state_->forget();
}

void Zero2::step() {
    state_->optimizer.step();
    for (const at::Tensor& row : state_->weights) {
        ring_all_gather(nn::floats(row), state_->comm);
    }
}

nn::Optimizer& Zero2::optimizer() {
    return state_->optimizer;
}

const std::vector<Bucket>& Zero2::buckets() const {
    return state_->buckets;
}

}  // namespace dist
