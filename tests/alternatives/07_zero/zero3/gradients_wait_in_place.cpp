// Gradients stay where backward leaves them until it has left the unit; then its row takes them in, and is scattered in
// the memory that the weights had. The output's hook knows its call, and the call whether backward has come to it.
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <future>
#include <map>
#include <optional>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/06_ddp/overlap.hpp"
#include "exercises/07_zero/zero1.hpp"
#include "exercises/07_zero/zero3.hpp"

namespace dist {

namespace {

struct Call {
    std::size_t unit;
    std::size_t depth;  // calls that were made by then, and that backward has not come to
    int come_in = 0;    // the backward that has come to it last
};
using Calls = std::vector<std::shared_ptr<Call>>;

}  // namespace

struct Zero3::State {
    std::vector<FsdpUnit> units;
    const Communicator& comm;
    const bool prefetch;
    std::vector<at::Tensor> rows = {};
    std::map<std::size_t, std::future<void>> gathers = {};  // done or under way
    Calls order = {};
    std::map<std::size_t, std::size_t> open =
        {};  // units in backward: how many calls are left when it is through
    int backward = 0;
    bool asked = false;
    std::optional<nn::Optimizer> optimizer = {};
    CommThread thread = {};

    void begin(std::size_t u) {
        if (gathers.contains(u)) {
            return;
        }
        nn::alloc_storage(rows[u]);
        shard_of(rows[u], comm).copy_(optimizer->parameters()[u]);
        gathers[u] = thread.submit([this, u] { ring_all_gather(nn::floats(rows[u]), comm); });
    }

    void gather(std::size_t u) {
        begin(u);
        if (gathers[u].valid()) {
            gathers[u].get();
        }
    }

    void drop(std::size_t u) {
        const auto found = gathers.find(u);
        if (found != gathers.end()) {
            if (found->second.valid()) {
                found->second.wait();
            }
            gathers.erase(found);
        }
        nn::free_storage(rows[u]);
    }

    void reduce(std::size_t u) {
        drop(u);
        nn::alloc_storage(rows[u]);  // for gradients now
        const at::Tensor& row = rows[u];
        row.zero_();
        const std::vector<at::Tensor> places = views_of(row, units[u].parameters);
        for (std::size_t k = 0; k < places.size(); ++k) {
            at::Tensor& gradient = units[u].parameters[k].mutable_grad();
            if (gradient.defined()) {
                const at::Tensor part = at::scalar_tensor(1.0 / comm.size(), at::kFloat);
                at::mul_out(const_cast<at::Tensor&>(places[k]), gradient, part);
                gradient = at::Tensor();
            }
        }
        const auto scatter = [&] { ring_reduce_scatter(nn::floats(row), ReduceOp::sum, comm); };
        thread.submit(scatter).get();
        at::Tensor& mean = optimizer->parameters()[u].mutable_grad();
        if (!mean.defined()) {
            mean = at::zeros_like(optimizer->parameters()[u]);
        }
        mean.add_(shard_of(row, comm));
        drop(u);
    }

    void reduce_above(std::size_t depth) {
        for (auto it = open.begin(); it != open.end();) {
            const auto [u, left] = *it;
            const bool again = std::any_of(order.begin(), order.end(), [u = u](const auto& call) {
                return call->unit == u;
            });
            if (left >= depth && !again) {
                reduce(u);
                it = open.erase(it);
            } else {
                ++it;
            }
        }
    }

    void enter(Call& call) {
        reduce_above(order.size());
        if (!order.empty() && order.back().get() == &call) {
            order.pop_back();
        }
        call.come_in = backward;
        open[call.unit] = call.depth;
        gather(call.unit);
        if (prefetch && !order.empty()) {
            begin(order.back()->unit);
        }
    }

    void come(Call& call) {
        if (!asked) {
            asked = true;
            ++backward;
            nn::at_end_of_backward([this] { end_backward(); });
        }
        while (call.come_in != backward) {
            const bool waits = std::any_of(order.begin(), order.end(), [&](const auto& one) {
                return one.get() == &call;
            });
            const std::shared_ptr<Call> next = waits ? order.back() : nullptr;
            enter(waits ? *next : call);
        }
    }

    void end_backward() {
        while (!order.empty()) {
            const std::shared_ptr<Call> next = order.back();
            enter(*next);
        }
        reduce_above(0);
        clear();
    }

    void clear() {
        for (std::size_t u = 0; u < units.size(); ++u) {
            drop(u);
            for (const at::Tensor& parameter : units[u].parameters) {
                parameter.mutable_grad() = at::Tensor();
            }
        }
        open.clear();
        order.clear();
        asked = false;
    }
};

Zero3::Zero3(
    std::vector<FsdpUnit> units,
    const nn::OptimizerOptions& options,
    const Communicator& comm,
    bool prefetch
)
    : state_(new State{std::move(units), comm, prefetch}) {
    State& state = *state_;
    std::vector<at::Tensor> all;
    for (const FsdpUnit& unit : state.units) {
        for (const at::Tensor& parameter : unit.parameters) {
            all.push_back(parameter);
        }
    }
    nn::expect_trainable(all, "Zero3");
    std::vector<at::Tensor> shards;
    for (std::size_t u = 0; u < state.units.size(); ++u) {
        const FsdpUnit& unit = state.units[u];
        state.rows.push_back(flatten_parameters(unit.parameters, comm.size()));
        shards.push_back(shard_of(state.rows[u], comm).clone());
    }
    state.optimizer.emplace(options, shards);
    state.clear();
}

Zero3::~Zero3() {
    state_->clear();
}

at::Tensor Zero3::forward(std::size_t unit, const std::function<at::Tensor()>& module) {
    State& state = *state_;
    if (unit >= state.units.size()) {
        throw std::invalid_argument("Zero3: no such unit");
    }
    struct Guard {
        State& state;
        bool well = false;
        ~Guard() {
            if (!well) {
                state.clear();
            }
        }
    } guard{state};
    state.gather(unit);
    if (state.prefetch && unit + 1 != state.units.size()) {
        state.begin(unit + 1);
    }
    const std::size_t depth = state.order.size();
    at::Tensor output = module();
    const bool recorded = at::GradMode::is_enabled();
    if (!recorded || state.units[unit].reshard_after_forward) {
        state.drop(unit);
    }
    if (recorded) {
        const auto call = std::make_shared<Call>(Call{unit, depth});
        state.order.push_back(call);
        if (!output.is_leaf()) {
            output.register_hook([call, shared = state_](const at::Tensor& gradient) {
                shared->come(*call);
                return gradient;
            });
        }
    }
    guard.well = true;
    return output;
}

void Zero3::zero_grad() {
    optimizer().zero_grad();
    state_->clear();
}

void Zero3::step() {
    optimizer().step();
    state_->clear();
}

nn::Optimizer& Zero3::optimizer() {
    return *state_->optimizer;
}

}  // namespace dist
