// No counts: each gradient has the number of the pass in which it came, and a bucket asks all of its own.
#include <algorithm>
#include <cstdint>
#include <string>

#include "course/nn/gradient_hook.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

CommHook all_reduce_hook(const Communicator& comm) {
    return [&comm](const at::Tensor& flat) {
        expects(flat.scalar_type() == at::kFloat, "all_reduce_hook: no float32");
        const std::span<float> row(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
        ring_all_reduce(row, ReduceOp::sum, comm);
        std::packaged_task<void()> nothing([] {});
        nothing();
        return nothing.get_future();
    };
}

struct Reducer::State {
    std::vector<at::Tensor> parameters;
    std::vector<std::size_t> limits;
    CommHook hook;
    const Communicator& comm;

    std::vector<Bucket> buckets = {};
    std::vector<at::Tensor> flats = {};
    std::vector<at::Tensor> places = {};
    std::vector<std::future<void>> futures = {};
    std::int64_t pass = 0;
    std::int64_t finished = 0;            // the pass that finalize_backward() came to last
    std::vector<std::int64_t> came = {};  // the pass in which each parameter's last gradient came
    std::vector<float> first_order = {};  // in the first passes; later nobody looks
    bool is_final = false;
    std::vector<nn::GradientHook> hooks = {};

    void plan(const std::vector<std::size_t>& order) {
        buckets = gradient_buckets(parameters, order, limits);
        flats.clear();
        for (const Bucket& bucket : buckets) {
            flats.push_back(flatten_gradients(parameters, bucket));
        }
        places.clear();
        for (const at::Tensor& parameter : parameters) {
            places.push_back(parameter.grad());
        }
    }

    void arrives(std::size_t i) {
        if (came[i] == pass) {
            throw std::logic_error("twice: " + std::to_string(i));
        }
        came[i] = pass;
        first_order.push_back(static_cast<float>(i));
        at::Tensor& gradient = parameters[i].mutable_grad();
        if (!gradient.defined()) {
            gradient = places[i].zero_();
        } else if (!gradient.is_same(places[i])) {
            gradient = places[i].copy_(gradient);
        }
        gradient.div_(comm.size());
        const auto there = [&](std::size_t other) { return came[other] == pass; };
        while (futures.size() < buckets.size() &&
               std::ranges::all_of(buckets[futures.size()], there)) {
            futures.push_back(hook(flats[futures.size()]));
        }
    }
};

Reducer::Reducer(
    std::vector<at::Tensor> parameters,
    std::vector<std::size_t> limits,
    CommHook hook,
    const Communicator& comm
)
    : state_(new State{std::move(parameters), std::move(limits), std::move(hook), comm}) {
    State* state = state_.get();
    std::vector<std::size_t> order;
    for (std::size_t i = state->parameters.size(); i-- > 0;) {
        const at::Tensor& parameter = state->parameters[i];
        const auto is_this = [&](const at::Tensor& other) { return other.is_same(parameter); };
        expects(std::ranges::count_if(state->parameters, is_this) == 1, "Reducer: twice");
        order.push_back(i);
        state->hooks.emplace_back(parameter, [state, i] {
            if (state->pass == state->finished) {
                return;
            }
            state->arrives(i);
        });
    }
    state->came.resize(order.size(), 0);
    state->plan(order);
}

Reducer::~Reducer() = default;

void Reducer::prepare_for_backward(std::span<const std::size_t> unused) {
    State& state = *state_;
    const std::size_t n = state.parameters.size();
    for (const std::size_t i : unused) {
        expects(i < n, "prepare_for_backward: no such parameter");
    }
    if (!state.is_final && state.first_order.size() == n) {
        state.is_final = true;
        broadcast(state.first_order, 0, state.comm);
        state.plan({state.first_order.begin(), state.first_order.end()});
    }
    ++state.pass;
    state.futures.clear();
    state.first_order.clear();
    for (const std::size_t i : unused) {
        state.arrives(i);
    }
}

void Reducer::finalize_backward() {
    State& state = *state_;
    if (state.pass == state.finished) {
        return;
    }
    state.finished = state.pass;
    std::string missing;
    for (std::size_t i = state.came.size(); i-- > 0;) {
        if (state.came[i] != state.pass) {
            missing = " " + std::to_string(i) + missing;
        }
    }
    if (!missing.empty()) {
        throw std::logic_error("missing:" + missing);
    }
    for (const std::future<void>& future : state.futures) {
        future.wait();
    }
    for (std::future<void>& future : state.futures) {
        future.get();
    }
}

const std::vector<Bucket>& Reducer::buckets() const {
    return state_->buckets;
}

}  // namespace dist
