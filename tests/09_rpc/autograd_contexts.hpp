// Whose context a call is in, while a rank waits and serves, and what is left of contexts.
#pragma once

#include <c10/core/GradMode.h>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/autograd_failures.hpp"

namespace dist::harness {

/// Runs a body on rank 0 of a world; the others serve.
inline void on_rank_0(CallWorld& world, const std::function<void()>& body) {
    const Comparison ended = world.run({{0, body}});
    CHECK(ended);
}

/// Rank 0 waits with gradients off, then in a context. Meanwhile rank 2 calls it in a context, then
/// without one.
inline void serve_others_while_it_waits(std::uint64_t seed) {
    AutogradWorld world(3, seed);
    const at::Tensor w = leaf({5, 7});
    const auto slow = [&](int ms) {
        return [&, ms](const Tensors& in) {
            world.network.time.sleep(std::chrono::milliseconds(ms));
            return in;
        };
    };
    world.on(1).define("slow", slow(20));
    world.on(1).define("slower", slow(200));
    world.on(0).define("layer", [&](const Tensors& in) {
        return world.on(0).call(1, "slow", {in[0].mul(w)});
    });
    int part = 0;  // of what rank 0 does
    std::string of_0;
    std::string of_2;
    Recorded outside;
    bool is_plain = false;
    const auto rank_0 = [&] {
        const ContextId context = world.on(0).new_context();
        {
            const c10::AutoGradMode off(false);
            part = 1;
            world.on(0).call(1, "slow", {w});
        }
        part = 2;
        const at::Tensor y = world.on(0).call(1, "slower", {w.mul(3)})[0];
        world.on(0).backward(context, {y.sum()});
        of_0 = text_of(world.on(0).gradients(context).at(w));
        outside = world.on(0).recorded(context);
    };
    const auto wait_for_part = [&](int wanted) {
        while (part < wanted) {
            world.network.time.sleep(std::chrono::milliseconds(1));
        }
    };
    const auto rank_2 = [&] {
        const at::Tensor x = leaf({1, 2});
        wait_for_part(1);
        const ContextId context = world.on(2).new_context();
        const at::Tensor y = world.on(2).call(0, "layer", {x})[0];
        world.on(2).backward(context, {y.sum()});
        of_2 = text_of(world.on(2).gradients(context).at(x)) + " and " +
               text_of(world.on(0).gradients(context).at(w));
        world.on(2).release(context);
        wait_for_part(2);
        is_plain = !world.on(2).call(0, "layer", {x})[0].requires_grad();
    };
    const Comparison ended = world.run({{0, rank_0}, {2, rank_2}});
    INFO(
        "rank 0 waits with gradients off, then in a context; rank 2 calls it in a context, then "
        "without one"
    );
    CHECK(ended);
    CHECK(of_2 == "Float [5, 7] and Float [1, 2]");
    CHECK(is_plain);
    INFO("rank 0's own call: y = 3w, by way of rank 1");
    CHECK(of_0 == "Float [3, 3]");
    CHECK(outside == Recorded{1, 1});
}

inline void share_weights_and_no_gradients(std::uint64_t seed) {
    AutogradWorld world(3, seed);
    const at::Tensor w = leaf({2});
    world.on(1).define("layer", [&](const Tensors& in) { return Tensors{in[0].mul(w)}; });
    std::map<int, std::string> texts;
    const auto train = [&](int rank) {
        for (int round = 1; round <= 5; ++round) {
            const at::Tensor x = leaf({static_cast<float>(10 * rank + round)});
            const ContextId context = world.on(rank).new_context();
            world.on(rank).backward(context, {world.on(rank).call(1, "layer", {x})[0].sum()});
            texts[rank] += text_of(world.on(1).gradients(context).at(w));
            world.on(rank).release(context);
        }
    };
    const Comparison ended = world.run({{0, [&] { train(0); }}, {2, [&] { train(2); }}});
    CHECK(ended);
    INFO(
        "loss = w * x; w lies on rank 1. Five rounds each, with x = 1 to 5 on rank 0, and 21 "
        "to 25 on rank 2"
    );
    CHECK(texts[0] == "Float [1]Float [2]Float [3]Float [4]Float [5]");
    CHECK(texts[2] == "Float [21]Float [22]Float [23]Float [24]Float [25]");
}

inline void make_and_release_contexts(std::uint64_t seed) {
    const Program program = around(3, 2);
    AutogradWorld world(3, seed);
    world.define(program);
    world.on(1).define("nests", [&](const Tensors&) {
        world.on(1).new_context();
        return Tensors{};
    });
    std::set<ContextId> ids;
    on_rank_0(world, [&] {
        for (int round = 0; round < 3; ++round) {
            const ContextId context = world.on(0).new_context();
            ids.insert(context);
            CHECK_THROWS_AS(world.on(0).new_context(), std::logic_error);
            CHECK_THROWS_AS(world.on(0).call(1, "nests", {}), RemoteError);
            program.roots(world.call_of(0));
            CHECK(world.on(2).contexts() == std::vector<ContextId>{context});
            world.on(0).release(context);
            const Comparison clean = world.is_clean();
            CHECK(clean);
            const std::string error =
                error_of([&] { static_cast<void>(world.on(0).gradients(context)); });
            const Comparison names_it{
                error.find(std::to_string(context)) != std::string::npos,
                "gradients() of context " + std::to_string(context) +
                    ", which was released, has to name it, and says: " + error};
            CHECK(names_it);
        }
        CHECK_THROWS_AS(world.on(0).backward(77, {leaf({1}).mul(2)}), Error);
        CHECK_THROWS_AS(world.on(0).recorded(77), Error);
        CHECK_THROWS_AS(world.on(0).release(77), Error);
    });
    CHECK(ids.size() == 3);
    on_rank_0(world, [&] { ids.insert(world.on(0).new_context()); });
    const Comparison ended =
        world.run({{2, [&] { CHECK((world.on(2).new_context() >> 48) == 2); }}});
    CHECK(ended);
    for (const ContextId id : ids) {
        CHECK((id != 0 && (id >> 48) == 0));
    }
}

}  // namespace dist::harness
