// What is left when calls fail, when backward never comes, and at the end: tried on everything that gathers weights
// and frees them.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/07_zero/units.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"

namespace dist::harness {

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
        CHECK(same(weights_of(units), std::vector<float>(6, 1), 1e-6));
    });
}

/// One unit is there, and another one is called.
inline void refuses_another_unit(const MakeUnits& make) {
    on_ranks({2}, [&](const Communicator& comm) {
        const Units units = make(each(zeros({{1}})), {}, comm);
        for (const std::size_t unit : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
            const auto call = [&] { units.bare_forward(unit, [] { return at::Tensor(); }); };
            refuses(comm, "unit " + std::to_string(unit) + " of 1", call);
        }
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
        const Settings settings(x);
        INFO("unit 2, which is called in unit 0, throws after unit 1");
        CHECK(answer(comm, [&] { all(Breaks::by_exception); }).text == "of the test");
        model.holds("after the exception", 0, 0, 0);
        CHECK_THROWS_AS(all(Breaks::by_number), int);
        model.holds("after 'throw 7', which is no std::exception", 0, 0, 0);
        CHECK(settings.unchanged());
        all(Breaks::no).backward();
        model.units.step();
        CHECK(same(weights_of(model.units), std::vector<float>(60, 0), 1e-6));
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
        CHECK(same(weights_of(units), std::vector<float>{17, 13, 11}, 1e-6));
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
        CHECK(same(
            weights_of(model.units), stepped, 1e-6,
            {{std::vector<float>(30, 1), "these are the weights of before the step"}}
        ));
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
    on_ranks({2, 1}, [&](const Communicator& comm) {
        const at::Tensor x = at::ones({1, 100}).requires_grad_();  // or no weight is kept
        const MemoryBefore before;
        const at::Tensor w = at::ones({100, 100}).requires_grad_();
        const Units units = make({{w}}, {}, comm);
        const std::size_t shard = before.tensors_since();
        const at::Tensor y = units.forward(0, [&] { return at::linear(x, w); });
        INFO("a linear layer of 10000 weights: a shard of them, and its output of 100 numbers");
        CHECK(same_bytes(
            before.tensors_since(), shard + 400, {},
            {{40'000, "a view that autograd keeps for backward keeps all weights alive"}}
        ));
        y.sum().backward();
    });
}

}  // namespace dist::harness
