#include "exercises/07_zero/zero3.hpp"

#include <algorithm>
#include <c10/core/GradMode.h>
#include <future>
#include <optional>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/gradient_row.hpp"
#include "course/nn/memory.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/06_ddp/overlap.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

namespace {

/// A call of forward(). Calls are numbered as they end.
struct Call {
    std::size_t unit;
    std::size_t before;  // how many calls had ended when this one began
    std::size_t number;
};

struct Unit {
    bool reshard_after_forward;
    at::Tensor weights;  // a row, whose memory comes and goes
    at::Tensor shard;    // this rank's part of it, which stays
    nn::GradientRow gradients;
    std::optional<std::size_t> before = {};  // of its first call, until its gradients are reduced
    std::future<void> gathering = {};        // valid while it is under way

    void free_weights() {
        if (gathering.valid()) {
            gathering.wait();
            gathering = {};
        }
        nn::free_storage(weights);
    }
};

}  // namespace

struct Zero3::State {
    const Communicator& comm;
    bool prefetch;
    std::vector<Unit> units = {};
    nn::Optimizer optimizer = {{}, {}};        // of the shards
    std::size_t calls = 0;                     // that have ended
    std::vector<Call> ahead = {};              // those that backward has not come to
    std::optional<std::size_t> reached = {};   // the call that backward has come to
    CommThread thread = {};                    // for all messages
    std::vector<nn::GradientHook> hooks = {};  // declared last: they go before what they call

    void start_gather(Unit& unit);
    void gather(Unit& unit);
    void come_to(const Call& call);
    void begin_backward(Call call);
    void end_backward();
    void reduce_gradients(Unit& unit);
    void forget();
};

void Zero3::State::start_gather(Unit& unit) {
    if (!nn::has_storage(unit.weights)) {
        nn::alloc_storage(unit.weights);
        shard_of(unit.weights, comm).copy_(unit.shard);
        unit.gathering = thread.submit([this, weights = nn::floats(unit.weights)] {
            ring_all_gather(weights, comm);
        });
    }
}

void Zero3::State::gather(Unit& unit) {
    start_gather(unit);
    if (unit.gathering.valid()) {
        unit.gathering.get();
    }
}

/// The gradient of the call's output is there. All messages follow from the order of the calls, which all ranks
/// know: backward goes from the last call to the first, also through those that take no part in it on this rank.
void Zero3::State::come_to(const Call& call) {
    if (!reached) {
        reached = calls;
        nn::at_end_of_backward([this] { end_backward(); });
    }
    while (call.number < reached) {
        const bool is_next = ahead.empty() || ahead.back().number < call.number;
        begin_backward(is_next ? call : ahead.back());
    }
}

void Zero3::State::begin_backward(Call call) {
    reached = call.number;
    for (Unit& unit : units) {
        if (unit.before > reached) {  // backward has left all of its calls
            reduce_gradients(unit);
        }
    }
    std::erase_if(ahead, [&](const Call& one) { return one.number == call.number; });
    Unit& unit = units[call.unit];
    unit.before = std::min(call.before, unit.before.value_or(call.before));
    gather(unit);
    if (prefetch && !ahead.empty()) {
        start_gather(units[ahead.back().unit]);
    }
}

void Zero3::State::end_backward() {
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

/// Adds the unit's gradients up over all ranks, and keeps this rank's shard. Its weights are no longer needed.
void Zero3::State::reduce_gradients(Unit& unit) {
    unit.before.reset();
    unit.free_weights();
    const at::Tensor row = unit.gradients.release();
    const auto add_up = [&] { ring_reduce_scatter(nn::floats(row), ReduceOp::sum, comm); };
    thread.submit(add_up).get();
    at::Tensor& sum = unit.shard.mutable_grad();
    const nn::MemoryScope scope(nn::MemoryKind::gradients);
    const at::Tensor mean = shard_of(row, comm);
    sum = sum.defined() ? sum.add_(mean) : mean.clone();
}

/// No backward is running, and no unit has weights.
void Zero3::State::forget() {
    reached.reset();
    ahead.clear();
    for (Unit& unit : units) {
        unit.before.reset();
        unit.gradients.clear();
        unit.free_weights();
    }
}

Zero3::Zero3(
    std::vector<FsdpUnit> units,
    const nn::OptimizerOptions& options,
    const Communicator& comm,
    bool prefetch
) {
    std::vector<at::Tensor> all;
    for (const FsdpUnit& unit : units) {
        all.insert(all.end(), unit.parameters.begin(), unit.parameters.end());
    }
    nn::expect_trainable(all, "Zero3");
    state_.reset(new State{comm, prefetch});
    State& state = *state_;
    std::vector<at::Tensor> shards;
    for (std::size_t u = 0; u < units.size(); ++u) {
        const auto& [parameters, reshard_after_forward] = units[u];
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            state.hooks.emplace_back(parameters[k], [&state, u, k] {
                state.units[u].gradients.take(k, 1.0 / state.comm.size());
            });
        }
        const at::Tensor row = flatten_parameters(parameters, comm.size());
        shards.push_back(shard_of(row, comm).clone());
        state.units.push_back({reshard_after_forward, row, shards[u], {parameters, row.numel()}});
    }
    state.optimizer = nn::Optimizer(options, shards);
    state.forget();
}

Zero3::~Zero3() {
    state_->forget();
}

at::Tensor Zero3::forward(std::size_t unit, const std::function<at::Tensor()>& module) {
    State& state = *state_;
    expects(unit < state.units.size(), "Zero3::forward: there is no such unit");
    Unit& it = state.units[unit];
    const std::size_t before = state.calls;
    try {
        state.gather(it);
        if (state.prefetch && unit + 1 < state.units.size()) {
            state.start_gather(state.units[unit + 1]);
        }
        const at::Tensor output = module();
        const bool recorded = at::GradMode::is_enabled();
        if (recorded) {
            const Call call{unit, before, state.calls++};
            state.ahead.push_back(call);
            it.before = std::min(before, it.before.value_or(before));
            if (!output.is_leaf()) {
                output.register_hook([kept = state_, call](const at::Tensor& /*gradient*/) {
                    kept->come_to(call);
                });
            }
        }
        if (it.reshard_after_forward || !recorded) {
            it.free_weights();
        }
        return output;
    } catch (...) {
        state.forget();
        throw;
    }
}

void Zero3::zero_grad() {
    state_->optimizer.zero_grad();
    state_->forget();
}

void Zero3::step() {
    state_->optimizer.step();
    state_->forget();
}

nn::Optimizer& Zero3::optimizer() {
    return state_->optimizer;
}

}  // namespace dist
