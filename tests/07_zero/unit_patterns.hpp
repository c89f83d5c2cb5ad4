// What everything owes that gathers weights and frees them: tests that are tried on each.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <stdexcept>
#include <vector>

#include "tests/07_zero/net.hpp"
#include "tests/07_zero/units.hpp"

namespace dist::harness {

/// The net, whose layers need their weights in backward, goes where one process takes it. Not with Adam: of a
/// gradient near 0 it takes the sign, and rounding may turn it.
inline void backward_has_weights(const MakeUnits& make) {
    on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
        const nn::OptimizerOptions& options = kOptions[0];
        const Net net;
        const Units units = make(in_units(net.parameters, {2}), options, comm);
        for (int step = 1; step <= 4; ++step) {
            units.zero_grad();
            const at::Tensor x = Net::input(comm.rank(), step);
            const at::Tensor h = units.forward(0, [&] { return net.first(x); });
            Net::loss(units.forward(1, [&] { return net.second(h); })).backward();
            units.step();
            INFO("two linear layers, " << name_of(options) << ", step " << step);
            const int p = comm.size();
            const Comparison result = same(
                weights_of(units), net_trained(options, step, p), 1e-5,
                {{net_trained(options, step - 1, p), "these are the weights of before this step"}}
            );
            REQUIRE(result);
        }
    });
}

/// A root with three units in it: one is called twice, one not at all, and one uses the root's parameter.
inline void calls_as_it_likes(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        const Tensors x = {
            filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_(),
            filled({1}, {5}).requires_grad_(), filled({1}, {7}).requires_grad_()};
        const Units units = make(each(x), {.rate = 1}, comm);
        const at::Tensor y = units.forward(0, [&] {
            const auto inner = [&](const at::Tensor& h) {
                return units.forward(1, [&] { return h.mul(x[1]).mul(x[0]); });
            };
            const at::Tensor h = inner(inner(x[0]));
            return units.forward(3, [&] { return h.mul(x[3]); });
        });
        y.sum().backward();
        units.step();
        INFO("y = x0^3 x1^2 x3 at (2, 3, 5, 7), a step of rate 1; x2 is not in it");
        const Comparison result =
            same(weights_of(units), std::vector<float>{2 - 756, 3 - 336, 5, 7 - 72}, 1e-5);
        CHECK(result);
    });
}

/// Gradients of 64, forgotten, then 1 and 2; one parameter brings none.
inline void adds_up(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        const Tensors x = zeros({{2}, {1}, {3}});
        const Units units = make(in_units(x, {2, 1}), {.rate = -1}, comm);
        const auto bring = [&](float value) {
            at::Tensor y = units.forward(0, [&] { return x[0].mul(value).sum(); });
            y = y.add(units.forward(1, [&] { return x[2].mul(value).sum(); }));
            y.backward();
        };
        bring(64);
        units.zero_grad();
        bring(1);
        bring(2);
        units.step();
        INFO("64 is forgotten, 1 and 2 are added up; unit 0's second parameter brings nothing");
        const Comparison result = same(
            weights_of(units), std::vector<float>{3, 3, 0, 3, 3, 3}, 1e-6,
            {{{67, 67, 0, 67, 67, 67}, "that is all three: zero_grad forgot nothing"},
             {{2, 2, 0, 2, 2, 2}, "that is the last backward alone"}}
        );
        CHECK(result);
    });
}

/// dist::Error from both, and afterwards all is as always.
inline void reports_failing_messages(const MakeUnits& make) {
    on_ranks({2, 3}, [&](const Communicator& comm) {
        const Tensors x = zeros({{6}});
        const Units units = make(each(x), {.rate = -1}, comm);
        const auto forward = [&] { return units.forward(0, [&] { return x[0].sum(); }); };
        const at::Tensor loss = forward();
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { loss.backward(); }).what == kError);
            units.zero_grad();
            CHECK(answer(comm, [&] { forward(); }).what == kError);
        }
        units.zero_grad();
        forward().backward();
        units.step();
        const Comparison result = same(weights_of(units), std::vector<float>(6, 1), 1e-6);
        CHECK(result);
    });
}

/// Forward throws in the middle: nothing stays, and the next step is as always.
inline void outlives_an_exception(const MakeUnits& make) {
    nn::count_memory();
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        Watched model({10, 20, 30}, make, {.rate = 1}, comm);
        const auto& x = model.parameters;
        const auto all = [&](bool breaks) {
            return model.units.forward(0, [&] {
                const at::Tensor h = model.units.forward(1, [&] { return x[1].sum(); });
                return model.units.forward(2, [&] {
                    if (breaks) {
                        throw std::runtime_error("of the test");
                    }
                    return h.add(x[2].sum()).add(x[0].sum());
                });
            });
        };
        INFO("unit 2, which is called in unit 0, throws after unit 1");
        CHECK(answer(comm, [&] { all(true); }).text == "of the test");
        model.holds("after the exception", 0, 0, 0);
        all(false).backward();
        model.units.step();
        const Comparison result = same(weights_of(model.units), std::vector<float>(60, 0), 1e-6);
        CHECK(result);
    });
}

/// What is kept for a backward that never comes, or was gathered in vain: freed, and not taken for what comes
/// out of the step. Unit 1 is never called.
inline void frees_what_is_stale(const MakeUnits& make) {
    nn::count_memory();
    on_ranks({2, 1}, [&](const Communicator& comm) {
        Watched model({10, 20}, make, {.rate = 1}, comm);
        const auto forward = [&] {
            return model.units.forward(0, [&] { return model.parameters[0].sum(); });
        };
        forward().backward();
        const std::size_t gradients = model.held().states.gradients;
        model.holds("after backward", 0, gradients, 0);
        forward();  // nobody calls backward on this one
        model.units.step();
        model.holds("after a forward without backward, and a step", 0, gradients, 0);
        std::vector<float> stepped(30, 1);
        std::fill_n(stepped.begin(), 10, 0);
        const Comparison result = same(
            weights_of(model.units), stepped, 1e-6,
            {{std::vector<float>(30, 1), "these are the weights of before the step"}}
        );
        CHECK(result);
        model.holds("after a forward that records nothing", 0, gradients, 0);
    });
}

/// A layer whose weight autograd keeps for backward, by a view of it.
inline void frees_what_autograd_keeps(const MakeUnits& make) {
    nn::count_memory();
    on_ranks({2, 1}, [&](const Communicator& comm) {
        const at::Tensor x = at::ones({1, 100}).requires_grad_();  // or no weight is kept
        const std::size_t before = nn::held_memory().total();
        const at::Tensor w = at::ones({100, 100}).requires_grad_();
        const Units units = make({{w}}, {}, comm);
        const std::size_t shard = nn::held_memory().total() - before;
        const at::Tensor y = units.forward(0, [&] { return at::linear(x, w); });
        INFO("a linear layer of 10000 weights: a shard of them, and its output of 100 numbers");
        const Comparison result = same_bytes(
            nn::held_memory().total() - before, shard + 400, {},
            {{40'000, "a view that autograd keeps for backward keeps all weights alive"}}
        );
        CHECK(result);
        y.sum().backward();
    });
}

}  // namespace dist::harness
