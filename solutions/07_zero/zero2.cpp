#include "exercises/07_zero/zero2.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <numeric>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

namespace {

struct Row {
    std::vector<at::Tensor> parameters = {};  // of the bucket
    at::Tensor weights = {};
    std::size_t missing = 0;    // gradients, until the bucket is full
    at::Tensor gradients = {};  // from the first one until they have met
    std::vector<at::Tensor> places = {};

    /// No gradient is there.
    void clear() {
        missing = parameters.size();
        gradients.reset();
        places.clear();
    }

    void begin() {
        if (!gradients.defined()) {
            gradients = at::zeros_like(weights);
            places = views_of(gradients, parameters);
        }
    }
};

}  // namespace

struct Zero2::State {
    const Communicator& comm;
    std::vector<Bucket> buckets;
    std::vector<Row> rows = {};                // one of each bucket
    nn::Optimizer optimizer = {{}, {}};        // of the rows' shards
    bool running = false;                      // backward is
    std::size_t met = 0;                       // how many buckets have, in this backward
    std::vector<nn::GradientHook> hooks = {};  // the last member: none calls what is gone

    void take(std::size_t bucket, std::size_t k);
    void meet();
};

/// The gradient of the bucket's k-th parameter is there.
void Zero2::State::take(std::size_t bucket, std::size_t k) {
    if (!std::exchange(running, true)) {
        nn::at_end_of_backward([this] {
            while (met < rows.size()) {
                meet();
            }
            running = false;
            met = 0;
        });
    }
    Row& row = rows[bucket];
    row.begin();
    at::Tensor& gradient = row.parameters[k].mutable_grad();
    at::mul_out(row.places[k], gradient, at::scalar_tensor(1.0 / comm.size(), at::kFloat));
    gradient.reset();
    --row.missing;
    // a full bucket waits for those before it: all ranks send in one order
    while (met < rows.size() && rows[met].missing == 0) {
        meet();
    }
}

/// The next bucket's gradients are added up over all ranks. What did not come is zeros.
void Zero2::State::meet() {
    Row& row = rows[met];
    row.begin();
    ring_reduce_scatter(nn::floats(row.gradients), ReduceOp::sum, comm);
    at::Tensor& sum = optimizer.parameters()[met].mutable_grad();
    const at::Tensor mean = shard_of(row.gradients, comm);
    sum = sum.defined() ? sum.add_(mean) : mean.clone();
    row.clear();
    ++met;
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
        Row& row = state.rows.emplace_back();
        for (std::size_t k = 0; k < state.buckets[b].size(); ++k) {
            row.parameters.push_back(parameters[state.buckets[b][k]]);
            row.parameters[k].mutable_grad().reset();
            state.hooks.emplace_back(row.parameters[k], [&state, b, k] { state.take(b, k); });
        }
        row.weights = flatten_parameters(row.parameters, comm.size());
        row.clear();
        shards.push_back(shard_of(row.weights, comm));
    }
    state.optimizer = nn::Optimizer(options, shards);
}

Zero2::~Zero2() = default;

void Zero2::zero_grad() {
    State& state = *state_;
    state.optimizer.zero_grad();
    for (Row& row : state.rows) {
        row.clear();
    }
    state.running = false;
    state.met = 0;
}

void Zero2::step() {
    state_->optimizer.step();
    for (const Row& row : state_->rows) {
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
