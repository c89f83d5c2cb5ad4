#include "exercises/07_zero/broadcast_zero3.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/gradient_row.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

std::vector<int> deal_out(std::span<const std::size_t> lengths, int p) {
    expects(p >= 1, "deal_out: there is one rank at least");
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t u) { return lengths[u]; });
    std::vector<std::size_t> held(static_cast<std::size_t>(p));
    std::vector<int> owners(lengths.size());
    for (const std::size_t u : order) {
        const auto emptiest = std::ranges::min_element(held);
        owners[u] = static_cast<int>(emptiest - held.begin());
        *emptiest += lengths[u];
    }
    return owners;
}

namespace {

struct Unit {
    int owner;
    at::Tensor weights;  // a row, whose memory comes and goes on all ranks but the owner
    nn::GradientRow gradients;
    bool in_backward = false;  // backward has come to the unit, and not left it
};

}  // namespace

struct BroadcastZero3::State {
    const Communicator& comm;
    std::vector<Unit> units = {};
    nn::Optimizer optimizer = {{}, {}};        // of the rows that are this rank's
    bool running = false;                      // backward is
    std::vector<nn::GradientHook> hooks = {};  // the last member: none calls what is gone

    void gather(const Unit& unit) const;
    void free_weights(const Unit& unit) const;
    void begin_backward(Unit& unit);
    void take(Unit& unit, std::size_t k);
    void meet(Unit& unit);
    void forget();
};

void BroadcastZero3::State::gather(const Unit& unit) const {
    nn::alloc_storage(unit.weights);
    tree_broadcast(nn::floats(unit.weights), unit.owner, comm);
}

void BroadcastZero3::State::free_weights(const Unit& unit) const {
    if (unit.owner != comm.rank()) {
        nn::free_storage(unit.weights);
    }
}

/// The gradient of the unit's output is there.
void BroadcastZero3::State::begin_backward(Unit& unit) {
    if (!std::exchange(running, true)) {
        nn::at_end_of_backward([this] {
            for (Unit& one : units) {
                if (one.in_backward) {
                    meet(one);
                }
            }
            forget();
        });
    }
    if (!std::exchange(unit.in_backward, true)) {
        gather(unit);
    }
}

/// The gradient of the unit's k-th parameter is there.
void BroadcastZero3::State::take(Unit& unit, std::size_t k) {
    unit.gradients.take(k, 1.0 / comm.size());
    if (unit.gradients.is_full()) {
        meet(unit);
    }
}

/// The unit's gradients are added up over all ranks, at its owner. Its weights have done their work.
void BroadcastZero3::State::meet(Unit& unit) {
    unit.in_backward = false;
    free_weights(unit);
    const at::Tensor row = unit.gradients.release();
    tree_reduce(nn::floats(row), ReduceOp::sum, unit.owner, comm);
    if (unit.owner == comm.rank()) {
        at::Tensor& sum = unit.weights.mutable_grad();
        sum = sum.defined() ? sum.add_(row) : row;
    }
}

/// No backward is running, and no unit of others has weights.
void BroadcastZero3::State::forget() {
    running = false;
    for (Unit& unit : units) {
        unit.in_backward = false;
        unit.gradients.clear();
        free_weights(unit);
    }
}

BroadcastZero3::BroadcastZero3(
    const std::vector<std::vector<at::Tensor>>& units,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    std::vector<at::Tensor> all;
    for (const std::vector<at::Tensor>& parameters : units) {
        all.insert(all.end(), parameters.begin(), parameters.end());
    }
    nn::expect_trainable(all, "BroadcastZero3");
    state_.reset(new State{comm});
    State& state = *state_;
    std::vector<std::size_t> lengths;
    for (std::size_t u = 0; u < units.size(); ++u) {
        for (std::size_t k = 0; k < units[u].size(); ++k) {
            state.hooks.emplace_back(units[u][k], [&state, u, k] {
                state.take(state.units[u], k);
            });
        }
        const at::Tensor row = flatten_parameters(units[u], 1);
        lengths.push_back(static_cast<std::size_t>(row.numel()));
        state.units.push_back({0, row, {units[u], row.numel()}});
    }
    const std::vector<int> owners = deal_out(lengths, comm.size());
    std::vector<at::Tensor> owned;
    for (std::size_t u = 0; u < units.size(); ++u) {
        state.units[u].owner = owners[u];
        if (owners[u] == comm.rank()) {
            owned.push_back(state.units[u].weights);
        }
    }
    state.optimizer = nn::Optimizer(options, owned);
    state.forget();
}

BroadcastZero3::~BroadcastZero3() = default;

at::Tensor BroadcastZero3::forward(std::size_t unit, const std::function<at::Tensor()>& module) {
    State& state = *state_;
    expects(unit < state.units.size(), "BroadcastZero3::forward: there is no such unit");
    try {
        state.gather(state.units[unit]);
        const at::Tensor output = module();
        if (output.requires_grad()) {
            output.register_hook([kept = state_, unit](const at::Tensor& /*gradient*/) {
                kept->begin_backward(kept->units[unit]);
            });
        }
        state.free_weights(state.units[unit]);
        return output;
    } catch (...) {
        state.forget();
        throw;
    }
}

void BroadcastZero3::zero_grad() {
    state_->optimizer.zero_grad();
    state_->forget();
}

void BroadcastZero3::step() {
    state_->optimizer.step();
}

nn::Optimizer& BroadcastZero3::optimizer() {
    return state_->optimizer;
}

}  // namespace dist
