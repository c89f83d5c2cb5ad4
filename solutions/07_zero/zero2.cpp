#include "exercises/07_zero/zero2.hpp"

#include <ATen/ops/zeros_like.h>
#include <numeric>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/memory.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

struct Zero2::State {
    /// A bucket's parameters, side by side.
    struct Row {
        std::vector<at::Tensor> parameters;
        at::Tensor weights;
        at::Tensor gradients = {};                // from the first one until they are averaged
        std::size_t missing = parameters.size();  // gradients that have not come

        at::Tensor& begin_gradients() {
            if (!gradients.defined()) {
                const nn::MemoryScope scope(nn::MemoryKind::gradients);
                gradients = at::zeros_like(weights);
            }
            return gradients;
        }
    };

    const Communicator& comm;
    std::vector<Bucket> buckets;
    std::vector<Row> rows = {};                // of each bucket
    nn::Optimizer optimizer = {{}, {}};        // of the rows' shards
    bool running = false;                      // whether backward is
    std::size_t met = 0;                       // how many buckets this backward has averaged
    std::vector<nn::GradientHook> hooks = {};  // declared last: they go before what they call

    void take(std::size_t bucket, std::size_t k);
    void reduce_gradients();
    void forget();
};

/// The gradient of the bucket's k-th parameter is there.
void Zero2::State::take(std::size_t bucket, std::size_t k) {
    if (!std::exchange(running, true)) {
        nn::at_end_of_backward([this] {
            while (met < rows.size()) {
                reduce_gradients();
            }
            forget();
        });
    }
    Row& row = rows[bucket];
    at::Tensor& gradient = row.parameters[k].mutable_grad();
    views_of(row.begin_gradients(), row.parameters)[k].copy_(gradient);
    gradient.reset();
    --row.missing;
    // a full bucket waits for those before it: all ranks send in one order
    while (met < rows.size() && rows[met].missing == 0) {
        reduce_gradients();
    }
}

/// Averages the next bucket's gradients over all ranks, and keeps this rank's shard.
void Zero2::State::reduce_gradients() {
    const at::Tensor row = rows[met].begin_gradients().mul_(1.0 / comm.size());
    rows[met].gradients.reset();
    ring_reduce_scatter(nn::floats(row), ReduceOp::sum, comm);
    at::Tensor& sum = optimizer.parameters()[met].mutable_grad();
    const nn::MemoryScope scope(nn::MemoryKind::gradients);
    const at::Tensor mean = shard_of(row, comm);
    sum = sum.defined() ? sum.add_(mean) : mean.clone();  // a view would keep the row
    ++met;
}

/// No backward is running, and no gradient has come.
void Zero2::State::forget() {
    running = false;
    met = 0;
    for (Row& row : rows) {
        row.gradients.reset();
        row.missing = row.parameters.size();
        for (const at::Tensor& parameter : row.parameters) {
            parameter.mutable_grad().reset();
        }
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
        const at::Tensor weights = flatten_parameters(members, comm.size());
        shards.push_back(shard_of(weights, comm));
        state.rows.push_back({std::move(members), weights});
    }
    state.forget();
    state.optimizer = nn::Optimizer(options, shards);
}

Zero2::~Zero2() = default;

void Zero2::zero_grad() {
    state_->optimizer.zero_grad();
    state_->forget();
}

void Zero2::step() {
    state_->optimizer.step();
    for (const State::Row& row : state_->rows) {
        ring_all_gather(nn::floats(row.weights), state_->comm);
    }
}

nn::Optimizer& Zero2::optimizer() {
    return state_->optimizer;
}

const std::vector<Bucket>& Zero2::buckets() const {
    return state_->buckets;
}

}  // namespace dist
