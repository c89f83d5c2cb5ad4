// What everything owes that gathers weights and frees them: tests that are tried on each.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <array>
#include <c10/core/GradMode.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/07_zero/net.hpp"
#include "tests/07_zero/units.hpp"
#include "tests/harness/words/two_alive.hpp"
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

/// What a rank leaves out of a unit.
enum class LeftOut { nothing, first, second, all, result, graph };

inline const char* name_of(LeftOut what) {
    switch (what) {
        case LeftOut::nothing:
            return "nothing";
        case LeftOut::first:
            return "its first parameter";
        case LeftOut::second:
            return "its second parameter";
        case LeftOut::all:
            return "both parameters, and returns its input";
        case LeftOut::result:
            return "its result: what it returns is not used";
        case LeftOut::graph:
            return "its gradients: what it returns is detached";
    }
    return "";
}

/// Three units, y = h a + b each. In `unit`, `what` is left out.
inline at::Tensor chain(const Tensors& x, const CallUnit& call, std::size_t unit, LeftOut what) {
    at::Tensor h = at::ones({1});
    for (std::size_t u = 0; u < 3; ++u) {
        const LeftOut here = u == unit ? what : LeftOut::nothing;
        const bool has_first = here != LeftOut::first && here != LeftOut::all;
        const bool has_second = here != LeftOut::second && here != LeftOut::all;
        const at::Tensor y = call(u, [&] {
            at::Tensor inner = has_first ? h.mul(x[2 * u]) : h;
            inner = has_second ? inner.add(x[2 * u + 1]) : inner;
            return here == LeftOut::graph ? inner.detach() : inner;
        });
        h = here == LeftOut::result ? h : y;
    }
    return h.sum().mul(12);  // 2, 3 and 4 ranks divide it
}

/// One rank leaves a parameter or a whole unit out: its gradients count as zeros, all others as always.
inline void one_rank_leaves_out(const MakeUnits& make) {
    const auto parameters = [] {
        Tensors x;
        for (const float value : {2.0F, 1.0F, 3.0F, 7.0F, 5.0F, 4.0F}) {
            x.push_back(filled({1}, {value}).requires_grad_());
        }
        return x;
    };
    on_ranks({2, 3, 4}, [&](const Communicator& comm) {
        const Tensors x = parameters();
        const Units units = make(in_units(x, {2, 2, 2}), {.rate = -1}, comm);
        const auto tries = [&](int absent, std::size_t unit, LeftOut what) {
            const auto left_out = [&](int rank) {
                return rank == absent ? what : LeftOut::nothing;
            };
            const Tensors expected = parameters();
            const CallUnit directly = [](std::size_t, const auto& module) { return module(); };
            for (int rank = 0; rank < comm.size(); ++rank) {
                chain(expected, directly, unit, left_out(rank)).div(comm.size()).backward();
            }
            for (const at::Tensor& parameter : expected) {
                parameter.data().add_(parameter.grad());
            }
            INFO(
                "three units, y = h a + b; in unit " << unit << " rank " << absent << " leaves out "
                                                     << name_of(what)
            );
            chain(x, units.bare_forward, unit, left_out(comm.rank())).backward();
            units.step();
            const Comparison result = same(weights_of(units), all_elements(expected));
            CHECK(result);
            units.optimizer().set_rate(1);  // and back
            units.step();
            units.optimizer().set_rate(-1);
            units.zero_grad();
        };
        constexpr std::array kinds = {
            LeftOut::first, LeftOut::second, LeftOut::all, LeftOut::result, LeftOut::graph};
        for (std::size_t unit = 0; unit < 3; ++unit) {
            for (std::size_t k = 0; k < kinds.size(); ++k) {
                for (int absent = 0; absent < comm.size(); ++absent) {
                    // every kind in every unit, on two ranks; on more, every rank
                    const bool is_turn =
                        (unit + k + static_cast<std::size_t>(absent)) % kinds.size() == 0;
                    const bool has_loss = unit < 2 || kinds[k] != LeftOut::graph;
                    if (has_loss && (is_turn || (comm.size() == 2 && absent == 1))) {
                        tries(absent, unit, kinds[k]);
                    }
                }
            }
        }
    });
}

/// A root calls unit 1 twice and unit 2 once; all use the root's parameter too. One rank leaves out one of these.
inline void one_rank_leaves_out_of_nested_units(const MakeUnits& make) {
    const auto nested = [](const Tensors& x, const CallUnit& call, std::size_t absent) {
        return call(
                   0,
                   [&] {
                       at::Tensor h = x[0].mul(2);
                       for (const std::size_t place : {0, 1, 2}) {
                           const std::size_t unit = place < 2 ? 1 : 2;
                           h = call(unit, [&] {
                               return place == absent ? h : h.mul(x[unit]).add(x[0]);
                           });
                       }
                       return absent == 3 ? h : h.mul(x[0]);
                   }
        )
            .sum()
            .mul(6);
    };
    const auto parameters = [] {
        return Tensors{
            filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_(),
            filled({1}, {5}).requires_grad_()};
    };
    on_ranks({2, 3}, [&](const Communicator& comm) {
        for (std::size_t place = 0; place < 4; ++place) {
            const int absent = static_cast<int>(place + 1) % comm.size();
            const Tensors x = parameters();
            const Units units = make(each(x), {.rate = -1}, comm);
            const auto left_out = [&](int rank) { return rank == absent ? place : std::size_t{4}; };
            const Tensors expected = parameters();
            const CallUnit directly = [](std::size_t, const auto& module) { return module(); };
            for (int rank = 0; rank < comm.size(); ++rank) {
                nested(expected, directly, left_out(rank)).div(comm.size()).backward();
            }
            for (const at::Tensor& parameter : expected) {
                parameter.data().add_(parameter.grad());
            }
            constexpr std::array places = {
                "the first call of unit 1 returns its input",
                "the second call of unit 1 returns its input", "unit 2 returns its input",
                "the root returns what unit 2 has returned"};
            INFO(
                "a root calls unit 1 twice, then unit 2; on rank " << absent << " " << places[place]
            );
            nested(x, units.bare_forward, left_out(comm.rank())).backward();
            units.step();
            const Comparison result = same(weights_of(units), all_elements(expected), 1e-6);
            CHECK(result);
        }
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
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        Watched model({10, 20, 30}, make, {.rate = 1}, comm);
        const auto& x = model.parameters;
        enum class Breaks { no, by_exception, by_number };
        const auto all = [&](Breaks breaks) {
            return model.units.forward(0, [&] {
                const at::Tensor h = model.units.forward(1, [&] { return x[1].sum(); });
                return model.units.forward(2, [&] {
                    if (breaks == Breaks::by_exception) {
                        throw std::runtime_error("of the test");
                    }
                    if (breaks == Breaks::by_number) {
                        throw 7;
                    }
                    return h.add(x[2].sum()).add(x[0].sum());
                });
            });
        };
        INFO("unit 2, which is called in unit 0, throws after unit 1");
        CHECK(answer(comm, [&] { all(Breaks::by_exception); }).text == "of the test");
        model.holds("after the exception", 0, 0, 0);
        CHECK_THROWS_AS(all(Breaks::by_number), int);
        model.holds("after 'throw 7', which is no std::exception", 0, 0, 0);
        all(Breaks::no).backward();
        model.units.step();
        const Comparison result = same(weights_of(model.units), std::vector<float>(60, 0), 1e-6);
        CHECK(result);
    });
}

/// A model of three units, y = h a, whose messages fail from a moment on: in forward of a unit, or in its backward.
/// After zero_grad the next step is as always. Not with prefetch: there a message may be on its way at that moment.
inline void begins_anew_after_failures(const MakeUnits& make) {
    on_ranks({2, 3}, [&](const Communicator& comm) {
        const Tensors x = {
            filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_(),
            filled({1}, {5}).requires_grad_()};
        const Units units = make(each(x), {.rate = -1}, comm);
        const auto step = [&](std::size_t fails_in, bool in_backward) {
            std::optional<FailingMessages> failing;
            at::Tensor h = at::ones({1});
            for (std::size_t u = 0; u < 3; ++u) {
                if (u == fails_in && !in_backward) {
                    failing.emplace();
                }
                h = units.forward(u, [&] {
                    const at::Tensor y = h.mul(x[u]);
                    if (u == fails_in && in_backward) {
                        y.register_hook([&](const at::Tensor& /*gradient*/) { failing.emplace(); });
                    }
                    return y;
                });
            }
            h.sum().backward();
        };
        for (const bool in_backward : {false, true}) {
            for (std::size_t u = 0; u < 3; ++u) {
                INFO(
                    "messages fail from unit " << u << " on, in "
                                               << (in_backward ? "backward" : "forward")
                );
                CHECK(answer(comm, [&] { step(u, in_backward); }).what == kError);
                units.zero_grad();
            }
        }
        step(3, false);
        units.step();
        CHECK(at::GradMode::is_enabled());
        const Comparison result = same(weights_of(units), std::vector<float>{17, 13, 11}, 1e-6);
        CHECK(result);
    });
}

/// Two models, of other lengths, whose calls and backwards are interleaved. Weights are needed in backward.
inline void keeps_two_apart(const MakeUnits& make) {
    struct Model {
        Tensors x;
        Communicator comm;
        Units units;
        at::Tensor h = at::ones({1});
        void forward(std::size_t u) {
            h = units.forward(u, [this, u] { return h.mul(x[u].mul(x[u]).sum()); });
        }
    };
    two_alive("these models", [make](std::size_t which, const Communicator& comm) {
        const std::int64_t n = which == 0 ? 2 : 3;
        const Tensors x = {at::ones({n}).requires_grad_(), at::ones({1}).requires_grad_()};
        auto own = comm.split(0, comm.rank());
        const auto model = std::make_shared<Model>(Model{x, std::move(own), {}});
        model->units = make(each(x), {.rate = -1}, model->comm);
        std::vector<float> expected(static_cast<std::size_t>(n), 3);
        expected.push_back(static_cast<float>(1 + 2 * n));
        return Life{
            .calls = {
                [=] { model->forward(0); }, [=] { model->forward(1); },
                [=] { model->h.sum().backward(); }, [=] { model->units.step(); }},
            .outcome = [=] { return same(weights_of(model->units), expected, 1e-6); }};
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
            const Comparison result = same(weights_of(units), all_elements(expected), 1e-5);
            CHECK(result);
        }
    });
}

/// What is kept for a backward that never comes, or was gathered in vain: freed, and not taken for what comes
/// out of the step. Unit 1 is never called.
inline void frees_what_is_stale(const MakeUnits& make) {
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

/// Destroyed while weights are kept or on their way, and after a backward that ended with an error: no parameter
/// has more memory than before the first forward.
inline void frees_when_destroyed(const MakeUnits& make) {
    const auto bytes_of = [](const Tensors& x) {
        std::vector<std::size_t> bytes;
        for (const at::Tensor& parameter : x) {
            bytes.push_back(parameter.storage().nbytes());
        }
        return bytes;
    };
    on_ranks({2, 1, 3}, [&](const Communicator& comm) {
        for (const bool fails : {false, true}) {
            const Tensors x = zeros({{1000}, {1000}});
            std::vector<std::size_t> before;
            at::Tensor loss;  // outlives what made it
            {
                const Units units = make(each(x), {}, comm);
                before = bytes_of(x);
                loss = units.forward(0, [&] { return x[0].sum(); });
                if (fails) {
                    loss = units.forward(1, [&] { return loss.mul(x[1].sum()); });
                    const FailingMessages failing;
                    answer(comm, [&] { loss.backward(); });
                }
            }
            INFO("bytes of two parameters of 4000 bytes: when it is gone, and when it was made");
            INFO((fails ? "gone after a backward that failed" : "gone after a forward of unit 0"));
            CHECK(bytes_of(x) == before);
        }
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
