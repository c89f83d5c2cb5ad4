// What follows on a module that throws.
#pragma once

#include "course/nn/autocast_state.hpp"
#include "tests/08_model_parallel/recomputed.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

namespace dist::harness {

/// A module throws in forward, and in backward; then another call.
inline void throws_and_leaves_all() {
    const at::Tensor x = filled({4}, 0, 1).requires_grad_();
    const Settings settings({x});
    const nn::AutocastScope around({true, at::kBFloat16});
    const auto call = [&](const Bomb& bomb) {
        const Module module = [&](const Tensors& in) {
            const at::Tensor y = at::dropout(in[0].tanh(), 0.5, true);
            bomb();
            return y;
        };
        at::Tensor y;
        {
            const nn::AutocastScope off({false, at::kBFloat16});
            seed_generator(7);
            y = recompute(module, {x});
        }
        seed_generator(8);
        y.sum().backward();
    };
    everything_throws(2, call, [&] {
        const Comparison left = settings.unchanged();
        if (!left) {
            return left;
        }
        if (!nn::AutocastState::now().enabled) {
            return Comparison{false, "autocast is left off"};
        }
        x.mutable_grad().reset();
        recompute([](const Tensors& in) { return in[0].tanh(); }, {x}).sum().backward();
        return same(elements(x.grad()), elements(x.tanh().square().neg().add(1)), 1e-5);
    });
    CHECK(thrown_by([&] { call(Bomb(Thrown::error, 1)); }) == name_of(Thrown::error));
    const at::Tensor drawn = at::rand({3});
    seed_generator(8);
    INFO("random numbers after a backward that ended so are as if nothing had been");
    CHECK(identical(drawn, at::rand({3})));
}

}  // namespace dist::harness
