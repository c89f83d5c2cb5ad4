// What everything must do that gathers the weights of units and frees them. A test that includes this tries it on its units.
#pragma once

#include <ATen/ops/ones.h>
#include <algorithm>
#include <array>
#include <c10/core/GradMode.h>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/07_zero/units.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

/// Runs `body` for each of units_to_try(), on worlds of these sizes.
inline void with_units(
    const std::vector<int>& worlds,
    const std::function<void(const UnitsToTry& tried, const Communicator& comm)>& body
) {
    for (const UnitsToTry& tried : units_to_try()) {
        INFO(tried.name);
        on_ranks(worlds, [&](const Communicator& comm) { body(tried, comm); });
    }
}

/// Parameters of one element each.
inline Tensors numbers_of(const std::vector<float>& values) {
    Tensors x;
    for (const float value : values) {
        x.push_back(filled({1}, {value}).requires_grad_());
    }
    return x;
}

/// y = h x0 x1 x2, a unit for each factor.
inline at::Tensor product(const Tensors& x, const CallUnit& call, at::Tensor h) {
    for (std::size_t u = 0; u < x.size(); ++u) {
        h = call(u, [&] { return h.mul(x[u]); });
    }
    return h.sum();
}

/// Where a step of rate -1 takes these parameters, by the mean of p ranks' gradients: what units would do, and no unit
/// does here.
inline std::vector<float> stepped(
    const Tensors& x, int p, const std::function<at::Tensor(const CallUnit& call, int rank)>& loss
) {
    const CallUnit directly = [](std::size_t, const auto& module) { return module(); };
    for (int rank = 0; rank < p; ++rank) {
        loss(directly, rank).div(p).backward();
    }
    for (const at::Tensor& parameter : x) {
        if (parameter.grad().defined()) {
            parameter.data().add_(parameter.grad());
        }
    }
    return all_elements(x);
}

TEST_CASE("backward has the weights of this step") {
    with_units({3, 1, 2, 4}, [](const UnitsToTry& tried, const Communicator& comm) {
        // not with Adam: of a gradient near 0 it takes the sign, and rounding may turn it
        const nn::OptimizerOptions& options = kOptions[0];
        const auto weights = [] {
            return Tensors{
                filled({6, 5}, 0, 1).div(16).requires_grad_(),
                filled({6}, 0, 2).div(16).requires_grad_(),
                filled({3, 6}, 0, 3).div(16).requires_grad_()};
        };
        const auto loss = [](const Tensors& w, const CallUnit& call, int rank, int step) {
            const at::Tensor x = filled({4, 5}, rank, 10 + static_cast<std::uint64_t>(step));
            const at::Tensor h =
                call(0, [&] { return x.div(16).matmul(w[0].t()).add(w[1]).relu(); });
            const at::Tensor y = call(1, [&] { return h.matmul(w[2].t()); });
            return y.mul(y).mean();
        };
        const Tensors w = weights();
        const Tensors whole = weights();
        const Units units = tried.make(in_units(w, {2}), options, comm);
        nn::Optimizer all(options, whole);
        for (int step = 1; step <= 4; ++step) {
            INFO("y = w1 relu(w0 x + b0) in two units, step " << step);
            units.zero_grad();
            loss(w, units.forward, comm.rank(), step).backward();
            units.step();
            const std::vector<float> before = all_elements(whole);
            all.zero_grad();
            for (int rank = 0; rank < comm.size(); ++rank) {
                const CallUnit directly = [](std::size_t, const auto& module) { return module(); };
                loss(whole, directly, rank, step).div(comm.size()).backward();
            }
            all.step();
            REQUIRE(same(
                weights_of(units), all_elements(whole), 1e-5,
                {{before, "these are the weights of before this step"}}
            ));
        }
    });
}

TEST_CASE("zero_grad forgets the calls, and a backward from a result of before works") {
    with_units({2, 1, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        const Tensors x = numbers_of({2, 3});
        const Units units = tried.make(each(x), {.rate = -1}, comm);
        const at::Tensor y = product(x, units.forward, at::ones({1}));
        units.zero_grad();
        INFO("y = x0 x1 at (2, 3); zero_grad, and then backward from y, whose graph is still there"
        );
        y.backward();
        units.step();
        CHECK(same(weights_of(units), std::vector<float>{2 + 3, 3 + 2}, 1e-6));
    });
}

TEST_CASE("two results of forward keep apart") {
    with_units({2, 1, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        const Tensors x = numbers_of({2, 3, 5});
        const Units units = tried.make(each(x), {.rate = -1}, comm);
        const at::Tensor one = product(x, units.forward, filled({1}, {1}));
        const at::Tensor ten = product(x, units.forward, filled({1}, {10}));
        one.backward();
        ten.backward();
        units.step();
        INFO("y = x0 x1 x2 and z = 10 x0 x1 x2 at (2, 3, 5), backward from y, then from z");
        CHECK(same(
            weights_of(units), std::vector<float>{2 + 165, 3 + 110, 5 + 66}, 1e-5,
            {{{2 + 15, 3 + 10, 5 + 6}, "that is the backward from y alone"},
             {{2 + 150, 3 + 100, 5 + 60}, "that is the backward from z alone"}}
        ));
    });
}

TEST_CASE("one rank may leave out a parameter, or a unit: all else is as always") {
    enum class LeftOut { nothing, first, second, all, result, graph };
    struct Way {
        LeftOut what;
        const char* name;
    };
    constexpr std::array ways = {
        Way{LeftOut::first, "its first parameter"}, Way{LeftOut::second, "its second parameter"},
        Way{LeftOut::all, "both parameters, and returns its input"},
        Way{LeftOut::result, "its result: what it returns is not used"},
        Way{LeftOut::graph, "its gradients: what it returns is detached"}};
    // three units, two parameters each; in `absent`, `what` is left out
    const auto chain = [](const Tensors& x, const CallUnit& call, std::size_t absent,
                          LeftOut what) {
        at::Tensor h = at::ones({1});
        for (std::size_t u = 0; u < 3; ++u) {
            const LeftOut here = u == absent ? what : LeftOut::nothing;
            const at::Tensor y = call(u, [&] {
                const bool has_first = here != LeftOut::first && here != LeftOut::all;
                const bool has_second = here != LeftOut::second && here != LeftOut::all;
                at::Tensor inner = has_first ? h.mul(x[2 * u]) : h;
                inner = has_second ? inner.add(x[2 * u + 1]) : inner;
                return here == LeftOut::graph ? inner.detach() : inner;
            });
            h = here == LeftOut::result ? h : y;
        }
        return h.sum().mul(12);  // 2, 3 and 4 ranks divide it
    };
    with_units({2, 3, 4}, [&](const UnitsToTry& tried, const Communicator& comm) {
        for (std::size_t unit = 0; unit < 3; ++unit) {
            for (std::size_t k = 0; k < ways.size(); ++k) {
                const auto [what, name] = ways[k];
                if (unit == 2 && what == LeftOut::graph) {
                    continue;  // there would be no loss
                }
                // on two ranks, every kind in every unit by the same rank; on more, every rank in turn
                const int absent = comm.size() == 2 ? 1 : static_cast<int>(unit + k) % comm.size();
                const auto left_out = [&, what = what](int rank) {
                    return rank == absent ? what : LeftOut::nothing;
                };
                const std::vector<float> begin = {2, 1, 3, 7, 5, 4};
                const Tensors x = numbers_of(begin);
                const Tensors whole = numbers_of(begin);
                const Units units = tried.make(in_units(x, {2, 2, 2}), {.rate = -1}, comm);
                const auto expected = stepped(whole, comm.size(), [&](const auto& call, int rank) {
                    return chain(whole, call, unit, left_out(rank));
                });
                INFO(
                    "three units, y = h a + b; in unit " << unit << " rank " << absent
                                                         << " leaves out " << name
                );
                chain(x, units.bare_forward, unit, left_out(comm.rank())).backward();
                units.step();
                CHECK(same(weights_of(units), expected));
            }
        }
    });
}

TEST_CASE("also of nested units, and of one that is called twice, one rank may leave out any") {
    // a root calls unit 1 twice, unit 2 once and unit 3 never; all use the root's parameter too
    const auto nested = [](const Tensors& x, const CallUnit& call, std::size_t absent) {
        const auto root = [&] {
            at::Tensor h = x[0].mul(2);
            for (const std::size_t place : {0, 1, 2}) {
                const std::size_t unit = place < 2 ? 1 : 2;
                h = call(unit, [&] { return place == absent ? h : h.mul(x[unit]).add(x[0]); });
            }
            return absent == 3 ? h : h.mul(x[0]);
        };
        return call(0, root).sum().mul(6);
    };
    constexpr std::array places = {
        "the first call of unit 1 returns its input", "the second call of unit 1 returns its input",
        "unit 2 returns its input", "the root returns what unit 2 has returned",
        "nothing is left out"};
    with_units({2, 1, 3}, [&](const UnitsToTry& tried, const Communicator& comm) {
        for (std::size_t place = 0; place < places.size(); ++place) {
            const int absent = static_cast<int>(place + 1) % comm.size();
            const auto left_out = [&](int rank) { return rank == absent ? place : places.size(); };
            const Tensors x = numbers_of({2, 3, 5, 7});
            const Tensors whole = numbers_of({2, 3, 5, 7});
            const Units units = tried.make(each(x), {.rate = -1}, comm);
            const auto expected = stepped(whole, comm.size(), [&](const auto& call, int rank) {
                return nested(whole, call, left_out(rank));
            });
            INFO(
                "a root calls unit 1 twice, then unit 2; on rank " << absent << " " << places[place]
            );
            nested(x, units.bare_forward, left_out(comm.rank())).backward();
            units.step();
            CHECK(same(weights_of(units), expected, 1e-6));
        }
    });
}

TEST_CASE("a backward costs no more after another one, whose gradients are kept") {
    with_units({2, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        const at::Tensor x = at::ones({4}).requires_grad_();
        const Units units = tried.make({{x}}, {}, comm);
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

TEST_CASE("what is kept or gathered in vain is freed, and not taken for what comes out of a step") {
    with_units({2, 1}, [](const UnitsToTry& tried, const Communicator& comm) {
        Watched model({10, 20}, tried.make, {.rate = 1}, comm);  // unit 1 is never called
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
        CHECK(same(
            weights_of(model.units), stepped, 1e-6,
            {{std::vector<float>(30, 1), "these are the weights of before the step"}}
        ));
        model.holds("after a forward that records nothing", 0, gradients, 0);
    });
}

TEST_CASE("weights are freed also where autograd keeps a view of them for backward") {
    with_units({2, 1}, [](const UnitsToTry& tried, const Communicator& comm) {
        if (!tried.reshard) {
            return;
        }
        const at::Tensor x = at::ones({1, 100}).requires_grad_();  // or no weight is kept
        const MemoryBefore before;
        const at::Tensor w = at::ones({100, 100}).requires_grad_();
        const Units units = tried.make({{w}}, {}, comm);
        const std::size_t shard = before.tensors_since();
        const at::Tensor y = units.forward(0, [&] { return x.matmul(w.t()); });
        INFO("a linear layer of 10000 weights: a shard of them, and its output of 100 numbers");
        CHECK(same_bytes(
            before.tensors_since(), shard + 400, {},
            {{40'000, "a view that autograd keeps for backward keeps all weights alive"}}
        ));
        y.sum().backward();
    });
}

TEST_CASE("when it is gone, no parameter has more memory than before the first forward") {
    const auto bytes_of = [](const Tensors& x) {
        return std::vector{x[0].storage().nbytes(), x[1].storage().nbytes()};
    };
    with_units({2, 1, 3}, [&](const UnitsToTry& tried, const Communicator& comm) {
        for (const bool fails : {false, true}) {
            const Tensors x = zeros({{1000}, {1000}});
            std::vector<std::size_t> before;
            at::Tensor loss;  // outlives what made it
            {
                const Units units = tried.make(each(x), {}, comm);
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

TEST_CASE("when module throws, all weights are freed, and the next step is as always") {
    with_units({2, 1, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        Watched model({10, 20, 30}, tried.make, {.rate = 1}, comm);
        const auto& x = model.parameters;
        const auto all = [&](bool breaks) {
            return model.units.forward(0, [&] {
                const at::Tensor h = model.units.forward(1, [&] { return x[1].sum(); });
                return model.units.forward(2, [&] {
                    if (breaks) {
                        throw 7;
                    }
                    return h.add(x[2].sum()).add(x[0].sum());
                });
            });
        };
        const Settings settings(x);
        INFO("unit 2, which is called in unit 0, throws after unit 1");
        CHECK_THROWS_AS(all(true), int);
        model.holds("after 'throw 7', which is no std::exception", 0, 0, 0);
        CHECK(settings.unchanged());
        all(false).backward();
        model.units.step();
        CHECK(same(weights_of(model.units), std::vector<float>(60, 0), 1e-6));
    });
}

TEST_CASE(
    "a message that fails comes out of forward and of backward; zero_grad makes a new beginning"
) {
    with_units({2, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        if (tried.prefetch) {
            return;  // a message may be on its way when they begin to fail
        }
        const Tensors x = numbers_of({2, 3, 5});
        const Units units = tried.make(each(x), {.rate = -1}, comm);
        bool in_backward = false;
        const auto pass = [&](std::size_t fails_in, bool fails_in_backward) {
            std::optional<FailingMessages> failing;
            in_backward = false;
            at::Tensor h = at::ones({1});
            for (std::size_t u = 0; u < 3; ++u) {
                if (u == fails_in && !fails_in_backward) {
                    failing.emplace();
                }
                h = units.forward(u, [&] {
                    const at::Tensor y = h.mul(x[u]);
                    if (u == fails_in && fails_in_backward) {
                        y.register_hook([&](const at::Tensor& /*gradient*/) { failing.emplace(); });
                    }
                    return y;
                });
            }
            in_backward = true;
            h.sum().backward();
        };
        for (const bool fails_in_backward : {false, true}) {
            for (std::size_t u = 0; u < 3; ++u) {
                INFO(
                    "messages fail from unit " << u << " on, in "
                                               << (fails_in_backward ? "backward" : "forward")
                );
                CHECK(answer(comm, [&] { pass(u, fails_in_backward); }).what == kError);
                CHECK(in_backward == fails_in_backward);
                units.zero_grad();
            }
        }
        pass(3, false);
        units.step();
        CHECK(at::GradMode::is_enabled());
        CHECK(same(weights_of(units), std::vector<float>{17, 13, 11}, 1e-6));
    });
}

TEST_CASE("a unit computes with the bits that its parameters had, wherever these lay") {
    with_units({2, 1, 3}, [](const UnitsToTry& tried, const Communicator& comm) {
        const std::vector<Resident> residents = zoo({at::kFloat}, 0);
        Tensors x;
        for (const Resident& resident : residents) {
            x.push_back(resident.tensor.detach().requires_grad_());
        }
        const Units units = tried.make(each(x), {}, comm);
        const std::vector<Resident> before = zoo({at::kFloat}, 0);
        for (std::size_t u = 0; u < x.size(); ++u) {
            Comparison there;
            units.forward(u, [&] {
                there = identical(x[u].detach(), before[u].tensor);
                return x[u].sum();
            });
            INFO("unit " << u << " has a parameter of " << before[u].name);
            CHECK(there);
        }
    });
}

TEST_CASE("a unit that is not there is refused") {
    with_units({2}, [](const UnitsToTry& tried, const Communicator& comm) {
        const Units units = tried.make(each(zeros({{1}})), {}, comm);
        for (const std::size_t unit : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
            const auto call = [&] { units.bare_forward(unit, [] { return at::Tensor(); }); };
            refuses(comm, "unit " + std::to_string(unit) + " of 1", call);
        }
    });
}

}  // namespace dist::harness
