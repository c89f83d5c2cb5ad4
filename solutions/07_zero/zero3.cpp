#include "exercises/07_zero/zero3.hpp"

#include <algorithm>
#include <future>
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

struct Unit {
    bool reshard_after_forward;
    at::Tensor weights;  // a row, whose memory comes and goes
    at::Tensor shard;    // of it, which stays
    nn::GradientRow gradients;
    bool in_backward = false;          // backward has come to the unit, and not left it
    std::future<void> gathering = {};  // valid while it is under way

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
    std::vector<std::size_t> ended = {};       // units, as they ended in forward
    bool running = false;                      // backward is
    CommThread thread = {};                    // for all messages
    std::vector<nn::GradientHook> hooks = {};  // the last member: none calls what is gone

    void start_gather(Unit& unit);
    void gather(Unit& unit);
    void begin_backward(std::size_t unit);
    void take(Unit& unit, std::size_t k);
    void meet(Unit& unit);
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

/// The gradient of the unit's output is there.
void Zero3::State::begin_backward(std::size_t unit) {
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
    units[unit].in_backward = true;
    gather(units[unit]);
    const auto last = std::find(ended.rbegin(), ended.rend(), unit);
    ended.erase(last == ended.rend() ? ended.begin() : last.base() - 1, ended.end());
    if (prefetch && !ended.empty()) {
        start_gather(units[ended.back()]);
    }
}

/// The gradient of the unit's k-th parameter is there.
void Zero3::State::take(Unit& unit, std::size_t k) {
    unit.gradients.take(k, 1.0 / comm.size());
    if (unit.gradients.is_full()) {
        meet(unit);
    }
}

/// The unit's gradients are added up over all ranks. Its weights have done their work.
void Zero3::State::meet(Unit& unit) {
    unit.in_backward = false;
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
    running = false;
    ended.clear();
    for (Unit& unit : units) {
        unit.in_backward = false;
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
                state.take(state.units[u], k);
            });
        }
        const at::Tensor row = flatten_parameters(parameters, comm.size());
        shards.push_back(shard_of(row, comm).clone());
        state.units.push_back({reshard_after_forward, row, shards[u], {parameters, row.numel()}});
    }
    state.optimizer = nn::Optimizer(options, shards);
    state.forget();
}

Zero3::~Zero3() = default;

at::Tensor Zero3::forward(std::size_t unit, const std::function<at::Tensor()>& module) {
    State& state = *state_;
    expects(unit < state.units.size(), "Zero3::forward: there is no such unit");
    Unit& it = state.units[unit];
    try {
        state.gather(it);
        if (state.prefetch && unit + 1 < state.units.size()) {
            state.start_gather(state.units[unit + 1]);
        }
        const at::Tensor output = module();
        const bool recorded = output.requires_grad();
        if (recorded) {
            state.ended.push_back(unit);
            output.register_hook([kept = state_, unit](const at::Tensor& /*gradient*/) {
                kept->begin_backward(unit);
            });
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
