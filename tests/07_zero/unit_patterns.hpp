// What everything owes that gathers weights and frees them: tests that are tried on each.
#pragma once

#include <ATen/ops/ones.h>
#include <vector>

#include "tests/07_zero/net.hpp"
#include "tests/07_zero/units.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

/// The net, whose layers need their weights in backward, goes where one process takes it. Not with Adam: of a
/// gradient near 0 it takes the sign, and rounding may turn it.
inline void backward_has_weights(const MakeUnits& make) {
    on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
        const nn::OptimizerOptions& options = kOptions[0];
        const Net net;
        const Units units = make(in_units(net.parameters, {2}), options, comm);
        for (int step = 1; step <= 4; ++step) {
            INFO("two linear layers, " << name_of(options) << ", step " << step);
            units.zero_grad();
            const at::Tensor x = Net::input(comm.rank(), step);
            const at::Tensor h = units.forward(0, [&] { return net.first(x); });
            Net::loss(units.forward(1, [&] { return net.second(h); })).backward();
            units.step();
            const int p = comm.size();
            REQUIRE(same(
                weights_of(units), net_trained(options, step, p), 1e-5,
                {{net_trained(options, step - 1, p), "these are the weights of before this step"}}
            ));
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
        INFO("y = x0^3 x1^2 x3 at (2, 3, 5, 7), a step of rate 1; x2 is not in it");
        const at::Tensor y = units.forward(0, [&] {
            const auto inner = [&](const at::Tensor& h) {
                return units.forward(1, [&] { return h.mul(x[1]).mul(x[0]); });
            };
            const at::Tensor h = inner(inner(x[0]));
            return units.forward(3, [&] { return h.mul(x[3]); });
        });
        y.sum().backward();
        units.step();
        CHECK(same(weights_of(units), std::vector<float>{2 - 756, 3 - 336, 5, 7 - 72}, 1e-5));
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
        INFO("64 is forgotten, 1 and 2 are added up; unit 0's second parameter brings nothing");
        bring(64);
        units.zero_grad();
        bring(1);
        bring(2);
        units.step();
        const Comparison result = same(
            weights_of(units), std::vector<float>{3, 3, 0, 3, 3, 3}, 1e-6,
            {{{67, 67, 0, 67, 67, 67}, "that is all three: zero_grad forgot nothing"},
             {{2, 2, 0, 2, 2, 2}, "that is the last backward alone"}}
        );
        CHECK(result);
    });
}

/// Two results of forward, then backward from the first and from the second.
inline void keeps_two_results_apart(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        const Tensors x = {
            filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_(),
            filled({1}, {5}).requires_grad_()};
        const Units units = make(each(x), {.rate = -1}, comm);
        const auto forward = [&](float factor) {
            at::Tensor h = filled({1}, {factor});
            for (std::size_t u = 0; u < 3; ++u) {
                h = units.forward(u, [&] { return h.mul(x[u]); });
            }
            return h.sum();
        };
        const at::Tensor one = forward(1);
        const at::Tensor ten = forward(10);
        one.backward();
        ten.backward();
        units.step();
        INFO("y = x0 x1 x2 and z = 10 x0 x1 x2 at (2, 3, 5), backward from y, then from z");
        const Comparison result = same(
            weights_of(units), std::vector<float>{2 + 165, 3 + 110, 5 + 66}, 1e-5,
            {{{2 + 15, 3 + 10, 5 + 6}, "that is the backward from y alone"},
             {{2 + 150, 3 + 100, 5 + 60}, "that is the backward from z alone"}}
        );
        CHECK(result);
    });
}

/// A forward, then zero_grad, then the backward from that forward's result: its units are gathered as ever.
inline void goes_back_after_zero_grad(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        const Tensors x = {filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_()};
        const Units units = make(each(x), {.rate = -1}, comm);
        at::Tensor h = at::ones({1});
        for (std::size_t u = 0; u < 2; ++u) {
            h = units.forward(u, [&] { return h.mul(x[u]); });
        }
        units.zero_grad();
        INFO("y = x0 x1 at (2, 3); zero_grad, and then backward from y, whose graph is still there"
        );
        h.sum().backward();
        units.step();
        CHECK(same(weights_of(units), std::vector<float>{2 + 3, 3 + 2}, 1e-6));
    });
}

/// With momentum and with decay: a step to which no backward has brought gradients.
inline void rests_without_backward(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            const Tensors x = {
                filled({3}, 0, 1).requires_grad_(), filled({2}, 0, 2).requires_grad_()};
            const Units units = make(each(x), options, comm);
            at::Tensor h = at::zeros({});
            for (std::size_t u = 0; u < 2; ++u) {
                h = units.forward(u, [&] { return h.add(x[u].sum()); });
            }
            h.backward();
            units.step();
            const std::vector<float> before = weights_of(units);
            units.zero_grad();
            units.step();
            INFO(name_of(options) << ": zero_grad and step, without a backward in between");
            CHECK(same(weights_of(units), before));
        }
    });
}

/// Parameters that lie in memory in any way, expanded ones too.
inline void takes_any_layout(const MakeUnits& make) {
    on_ranks({2, 3}, [&](const Communicator& comm) {
        for (const Layout layout : kLayouts) {
            Tensors x;
            Tensors expected;
            Tensors factors;
            for (const std::uint64_t salt : {1, 2}) {
                const at::Tensor values = laid_out(filled({3, 4}, 0, salt), layout);
                x.push_back(values.detach().requires_grad_());
                factors.push_back(filled({3, 4}, 0, salt + 10));
                expected.push_back(values.add(factors.back()));
            }
            const Units units = make({x}, {.rate = -1}, comm);
            units
                .forward(
                    0, [&] { return x[0].mul(factors[0]).sum().add(x[1].mul(factors[1]).sum()); }
                )
                .backward();
            units.step();
            INFO("two parameters of 3 x 4, " << name_of(layout));
            CHECK(same(weights_of(units), all_elements(expected), 1e-5));
        }
    });
}

/// Three forwards and backwards of one unit, which add up: none begins what the ones before it have ended.
inline void repeats_at_the_same_cost(const MakeUnits& make) {
    on_ranks({2, 3}, [&](const Communicator& comm) {
        const at::Tensor x = at::ones({4}).requires_grad_();
        const Units units = make({{x}}, {}, comm);
        long first = 0;
        for (int pass = 1; pass <= 3; ++pass) {
            INFO("messages of backward " << pass << " without zero_grad, and of the first");
            const at::Tensor y = units.forward(0, [&] { return x.sum(); });
            const Traffic backward = record(comm, [&] { y.backward(); });
            first = pass == 1 ? backward.messages_sent : first;
            CHECK(backward.messages_sent == first);
        }
    });
}

/// Zeros with a sign, infinities and NaNs: a unit computes with the bits that its parameters had, on every rank.
inline void keeps_every_bit(const MakeUnits& make) {
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        const at::Tensor values = extraordinary(at::kFloat, 0);
        const Tensors x = {values.clone().requires_grad_(), values.flip(0).requires_grad_()};
        const Units units = make(each(x), {}, comm);
        for (std::size_t u = 0; u < 2; ++u) {
            INFO("unit " << u << " has -0.0, infinities and NaNs of many bits in it");
            Comparison there;
            units.forward(u, [&] {
                there = identical(x[u].detach(), u == 0 ? values : values.flip(0));
                return x[u].sum();
            });
            CHECK(there);
        }
    });
}

}  // namespace dist::harness
