#include "exercises/06_ddp/autograd_hooks.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "course/nn/gradient_hook.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

CommHook all_reduce_hook(const Communicator& comm) {
    return [&comm](const at::Tensor& flat) {
        expects(flat.scalar_type() == at::kFloat, "all_reduce_hook: gradients must be float32");
        ring_all_reduce(
            {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, ReduceOp::sum, comm
        );
        std::promise<void> done;
        done.set_value();
        return done.get_future();
    };
}

struct Reducer::State {
    std::vector<at::Tensor> parameters;
    std::vector<std::size_t> limits;
    CommHook hook;
    const Communicator& comm;

    std::vector<Bucket> buckets = {};
    std::vector<at::Tensor> flats = {};       // of each bucket
    std::vector<std::size_t> bucket_of = {};  // each parameter's
    std::vector<at::Tensor> place_of = {};    // where in the flat tensor its gradient belongs

    // of one backward pass
    bool expecting = false;
    std::vector<std::size_t> arrived = {};  // parameters, in the order in which they were ready
    std::vector<bool> is_ready = {};        // each parameter
    std::vector<std::size_t> missing = {};  // how many gradients of each bucket
    std::vector<std::future<void>> leaving = {};  // buckets whose hooks have been called

    bool planned_anew = false;
    std::vector<nn::GradientHook> hooks = {};  // declared last: they go before what they call

    void plan(std::span<const std::size_t> order);
    void put_in_place(std::size_t parameter);
    void mark_ready(std::size_t parameter);
};

/// Shares the parameters out anew; gradients move to where their bucket is.
void Reducer::State::plan(std::span<const std::size_t> order) {
    buckets = gradient_buckets(parameters, order, limits);
    flats.clear();
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        flats.push_back(flatten_gradients(parameters, buckets[b]));
        for (const std::size_t i : buckets[b]) {
            bucket_of[i] = b;
            place_of[i] = parameters[i].grad();
        }
    }
}

/// Writes gradient / p into its place in the bucket, which becomes the parameter's gradient.
void Reducer::State::put_in_place(std::size_t parameter) {
    at::Tensor& gradient = parameters[parameter].mutable_grad();
    at::Tensor& place = place_of[parameter];
    if (gradient.defined()) {
        at::mul_out(place, gradient, at::scalar_tensor(1.0 / comm.size(), gradient.scalar_type()));
    } else {
        place.zero_();
    }
    gradient = place;
}

void Reducer::State::mark_ready(std::size_t parameter) {
    if (!expecting) {
        return;
    }
    if (is_ready[parameter]) {
        throw std::logic_error(
            "Reducer: gradient " + std::to_string(parameter) + " came twice: finalize_backward()?"
        );
    }
    is_ready[parameter] = true;
    arrived.push_back(parameter);
    put_in_place(parameter);
    --missing[bucket_of[parameter]];
    // a full bucket waits for those before it: all ranks start their messages in one order
    while (leaving.size() < buckets.size() && missing[leaving.size()] == 0) {
        leaving.push_back(hook(flats[leaving.size()]));
    }
}

Reducer::Reducer(
    std::vector<at::Tensor> parameters,
    std::vector<std::size_t> limits,
    CommHook hook,
    const Communicator& comm
)
    : state_(new State{std::move(parameters), std::move(limits), std::move(hook), comm}) {
    State& state = *state_;
    const std::size_t n = state.parameters.size();
    std::vector<std::size_t> order(n);
    std::iota(order.rbegin(), order.rend(), 0);
    state.bucket_of.resize(n);
    state.place_of.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            expects(
                !state.parameters[i].is_same(state.parameters[j]),
                "Reducer: a parameter stands there twice"
            );
        }
        // throws for what is no leaf
        state.hooks.emplace_back(state.parameters[i], [&state, i] { state.mark_ready(i); });
    }
    state.plan(order);
}

Reducer::~Reducer() = default;

void Reducer::prepare_for_backward(std::span<const std::size_t> unused) {
    State& state = *state_;
    const std::size_t n = state.parameters.size();
    expects(
        unused.empty() || std::ranges::max(unused) < n,
        "prepare_for_backward: no parameter has this number"
    );
    if (state.arrived.size() == n && !std::exchange(state.planned_anew, true)) {
        // each rank has an order of its own: rank 0's is all ranks'
        std::vector<float> order(state.arrived.begin(), state.arrived.end());
        broadcast(order, 0, state.comm);
        state.plan(std::vector<std::size_t>(order.begin(), order.end()));
    }
    state.expecting = true;
    state.arrived.clear();
    state.leaving.clear();
    state.is_ready.assign(n, false);
    state.missing.clear();
    for (const Bucket& bucket : state.buckets) {
        state.missing.push_back(bucket.size());
    }
    for (const std::size_t i : unused) {
        state.mark_ready(i);
    }
}

void Reducer::finalize_backward() {
    State& state = *state_;
    if (!std::exchange(state.expecting, false)) {
        return;
    }
    std::string missing;
    for (std::size_t i = 0; i < state.parameters.size(); ++i) {
        if (!state.is_ready[i]) {
            missing += " " + std::to_string(i);
        }
    }
    if (!missing.empty()) {
        throw std::logic_error("Reducer: backward brought no gradient for parameters" + missing);
    }
    std::exception_ptr first;
    for (std::future<void>& bucket : state.leaving) {
        try {
            bucket.get();
        } catch (...) {
            first = first ? first : std::current_exception();
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

const std::vector<Bucket>& Reducer::buckets() const {
    return state_->buckets;
}

}  // namespace dist
