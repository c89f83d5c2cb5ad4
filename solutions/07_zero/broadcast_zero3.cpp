#include "exercises/07_zero/broadcast_zero3.hpp"

#include <algorithm>
#include <c10/core/GradMode.h>
#include <numeric>
#include <optional>
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

/// A call of forward(). Calls are numbered as they end.
struct Call {
    std::size_t unit;
    std::size_t before;  // how many calls had ended when this one began
    std::size_t number;
};

struct Unit {
    int owner;
    at::Tensor weights;  // a row, whose memory comes and goes on all ranks but the owner
    nn::GradientRow gradients;
    std::optional<std::size_t> before = {};  // of its first call, until its gradients are reduced
    bool lent = false;                       // all ranks have the weights
};

}  // namespace

struct BroadcastZero3::State {
    const Communicator& comm;
    std::vector<Unit> units = {};
    nn::Optimizer optimizer = {{}, {}};        // of the rows that are this rank's
    std::size_t calls = 0;                     // that have ended
    std::vector<Call> ahead = {};              // those that backward has not come to
    std::optional<std::size_t> reached = {};   // the call that backward has come to
    std::vector<nn::GradientHook> hooks = {};  // declared last: they go before what they call

    void lend(Unit& unit) const;
    void give_back(Unit& unit) const;
    void come_to(const Call& call);
    void begin_backward(Call call);
    void end_backward();
    void reduce_gradients(Unit& unit);
    void forget();
};

void BroadcastZero3::State::lend(Unit& unit) const {
    if (!std::exchange(unit.lent, true)) {
        nn::alloc_storage(unit.weights);
        tree_broadcast(nn::floats(unit.weights), unit.owner, comm);
    }
}

void BroadcastZero3::State::give_back(Unit& unit) const {
    unit.lent = false;
    if (unit.owner != comm.rank()) {
        nn::free_storage(unit.weights);
    }
}

/// The gradient of the call's output is there. All messages follow from the order of the calls, which all ranks
/// know: backward goes from the last call to the first, also through those that take no part in it on this rank.
void BroadcastZero3::State::come_to(const Call& call) {
    if (!reached) {
        reached = calls;
        nn::at_end_of_backward([this] { end_backward(); });
    }
    while (call.number < reached) {
        const bool is_next = ahead.empty() || ahead.back().number < call.number;
        begin_backward(is_next ? call : ahead.back());
    }
}

void BroadcastZero3::State::begin_backward(Call call) {
    reached = call.number;
    for (Unit& unit : units) {
        if (unit.before > reached) {  // backward has left all of its calls
            reduce_gradients(unit);
        }
    }
    std::erase_if(ahead, [&](const Call& one) { return one.number == call.number; });
    Unit& unit = units[call.unit];
    unit.before = std::min(call.before, unit.before.value_or(call.before));
    lend(unit);
}

void BroadcastZero3::State::end_backward() {
    while (!ahead.empty()) {
        begin_backward(ahead.back());
    }
    for (Unit& unit : units) {
        if (unit.before) {
            reduce_gradients(unit);
        }
    }
    forget();
}

/// Adds the unit's gradients up over all ranks, at its owner. Its weights are no longer needed.
void BroadcastZero3::State::reduce_gradients(Unit& unit) {
    unit.before.reset();
    give_back(unit);
    const at::Tensor row = unit.gradients.release();
    tree_reduce(nn::floats(row), ReduceOp::sum, unit.owner, comm);
    if (unit.owner == comm.rank()) {
        at::Tensor& sum = unit.weights.mutable_grad();
        sum = sum.defined() ? sum.add_(row) : row;
    }
}

/// No backward is running, and no unit of others has weights.
void BroadcastZero3::State::forget() {
    reached.reset();
    ahead.clear();
    for (Unit& unit : units) {
        unit.before.reset();
        unit.gradients.clear();
        give_back(unit);
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
                state.units[u].gradients.take(k, 1.0 / state.comm.size());
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

BroadcastZero3::~BroadcastZero3() {
    state_->forget();
}

at::Tensor BroadcastZero3::forward(std::size_t unit, const std::function<at::Tensor()>& module) {
    State& state = *state_;
    expects(unit < state.units.size(), "BroadcastZero3::forward: there is no such unit");
    Unit& it = state.units[unit];
    const std::size_t before = state.calls;
    try {
        state.lend(it);
        const at::Tensor output = module();
        if (at::GradMode::is_enabled()) {
            const Call call{unit, before, state.calls++};
            state.ahead.push_back(call);
            it.before = std::min(before, it.before.value_or(before));
            if (!output.is_leaf()) {
                output.register_hook([kept = state_, call](const at::Tensor& /*gradient*/) {
                    kept->come_to(call);
                });
            }
        }
        state.give_back(it);
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
