// Passes that end with an error: an operation throws, a rank dies, the context is released; and
// what is then.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "course/nn/with_backward.hpp"
#include "tests/09_rpc/autograd_examples.hpp"

namespace dist::harness {

/// The tensor; backward calls `then` where it comes to it.
inline at::Tensor with_call(const at::Tensor& x, const std::function<void()>& then) {
    return nn::with_backward(x, {x}, [then](const at::Tensor& gradient, const Tensors&) {
        then();
        return Tensors{gradient};
    });
}

/// How a call ended: "", or the text of a dist::Error.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// On three ranks: rank 0 calls 1, which calls 2, and 2 as well. `at_backward` is called on rank 2
/// when backward is there.
inline Program two_hops(const std::function<void()>& at_backward) {
    Program program = {"two hops", {{leaf({1, 2})}, {leaf({2, 5})}, {leaf({4, 3})}}};
    const auto leaves = program.leaves;
    program.functions["far"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{with_call(in[0].mul(leaves[2][0]), at_backward)};
    };
    program.functions["near"] = [=](int, const CallFunction& call, const Tensors& in) {
        return Tensors{call(2, "far", {in[0].mul(leaves[1][0])})[0]};
    };
    program.functions["plain"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{in[0].mul(leaves[2][0])};
    };
    program.roots = [=](const CallFunction& call) {
        const at::Tensor near = call(1, "near", {leaves[0][0]})[0];
        return Tensors{call(2, "plain", {leaves[0][0]})[0].add(near).sum()};
    };
    return program;
}

/// An operation throws on rank 2. Then, in the same context, a pass in which it does not.
inline void throw_two_hops_away(std::uint64_t seed) {
    bool throws = true;
    const Program program = two_hops([&] {
        if (throws) {
            throw std::runtime_error("no gradient today");
        }
    });
    AutogradWorld world(3, seed);
    world.define(program);
    std::string error;
    std::vector<Tensors> before(3);
    ContextId context = 0;
    const auto look = [&](int rank) {
        const at::Tensor& own = program.leaves[static_cast<std::size_t>(rank)][0];
        const Gradients all = world.on(rank).gradients(context);
        return all.contains(own) ? all.at(own).clone() : at::zeros({2});
    };
    const Comparison ended =
        world.run({{0, [&] {
                        context = world.on(0).new_context();
                        const Tensors roots = program.roots(world.call_of(0));
                        error = error_of([&] { world.on(0).backward(context, roots); });
                        for (int rank = 0; rank < 3; ++rank) {
                            before[static_cast<std::size_t>(rank)] = {look(rank)};
                        }
                        throws = false;
                        world.on(0).backward(context, roots);
                    }}});
    CHECK(ended);
    INFO(
        "an operation on rank 2 throws in backward: \"no gradient today\". backward on rank 0 "
        "throws: "
        << error
    );
    CHECK(error.find("no gradient today") != std::string::npos);
    CHECK(error.find("rank 2") != std::string::npos);
    throws = false;
    const std::vector<Tensors> expected = plain_gradients(program);
    for (std::size_t rank = 0; ended && rank < 3; ++rank) {
        INFO("what the pass after it has added on rank " << rank);
        CHECK(
            text_of(look(static_cast<int>(rank)).sub(before[rank][0])) == text_of(expected[rank][0])
        );
    }
}

/// An operation throws on rank 1 at once; one on rank 2 takes its time.
inline void throw_beside_a_slow_one(std::uint64_t seed) {
    AutogradWorld world(3, seed);
    const auto define = [&](int rank, const std::function<void()>& at_backward) {
        world.on(rank).define("layer", [=](const Tensors& in) {
            return Tensors{with_call(in[0].mul(2), at_backward)};
        });
    };
    define(1, [] { throw std::runtime_error("no gradient today"); });
    define(2, [&] { world.network.time.sleep(std::chrono::milliseconds(50)); });
    Comparison all_through;
    const Comparison ended =
        world.run({{0, [&] {
                        const at::Tensor x = leaf({1});
                        const ContextId context = world.on(0).new_context();
                        at::Tensor loss = x;
                        for (const int rank : {1, 2}) {
                            loss = loss.add(world.on(0).call(rank, "layer", {x})[0]);
                        }
                        CHECK_THROWS_AS(world.on(0).backward(context, {loss.sum()}), RemoteError);
                        all_through = world.network.all_through();
                    }}});
    INFO("rank 1 throws at once, an operation of rank 2 takes 50 ms; then backward throws");
    CHECK(all_through);
    CHECK(ended);
}

/// What happens to the others at one of the calls of a backward.
using Disturb = std::function<void(AutogradWorld& world, ContextId context)>;

/// What holds afterwards, on rank 0.
using Afterwards = std::function<Comparison(AutogradWorld& world, ContextId context)>;

/// Disturbs at each call of a backward in turn, until none is left. backward has to throw a
/// dist::Error, or to be through;
/// no rank may wait for ever. How many calls there are is the answer's matter: so this returns the
/// first fault, and checks nothing.
inline Comparison disturb_each_call(const Disturb& disturb, const Afterwards& then) {
    for (std::size_t number = 1; number < 30; ++number) {
        const Program program = chain();
        AutogradWorld world(3, number);
        world.define(program);
        bool was_disturbed = false;
        bool was_kept = true;
        Comparison holds;
        const Comparison ended =
            world.run({{0, [&] {
                            const ContextId context = world.on(0).new_context();
                            const Tensors roots = program.roots(world.call_of(0));
                            const std::size_t begin = world.network.calls.size();
                            world.network.at_call = [&](std::size_t call) {
                                if (call == begin + number) {
                                    was_disturbed = true;
                                    disturb(world, context);
                                }
                            };
                            const bool threw =
                                !error_of([&] { world.on(0).backward(context, roots); }).empty();
                            was_kept = threw || !world.on(0).contexts().empty();
                            world.network.at_call = nullptr;
                            holds = then(world, context);
                        }}});
        const std::string here = "at call " + std::to_string(number) + " of backward: ";
        if (!ended) {
            return {false, here + ended.text};
        }
        if (!was_kept) {
            return {false, here + "backward returns as if all were well; the context is gone"};
        }
        if (!holds) {
            return {false, here + holds.text};
        }
        if (!was_disturbed) {
            return {number > 1, "backward made no call"};
        }
    }
    return {};
}

/// A rank releases the context while backward is under way.
inline void release_at_each_call() {
    for (int who = 0; who < 3; ++who) {
        INFO("rank " << who << " releases the context");
        const Comparison right = disturb_each_call(
            [who](AutogradWorld& world, ContextId context) {
                world.network.post(who, [&world, who, context] {
                    error_of([&] { world.on(who).release(context); });  // or it was released
                });
            },
            [](AutogradWorld& world, ContextId context) {
                error_of([&] { world.on(0).release(context); });
                if (const Comparison clean = world.is_clean(); !clean) {
                    return clean;
                }
                const Program again = one_call();
                const std::vector<Tensors> expected = plain_gradients(again);
                world.define(again);
                const ContextId next = world.on(0).new_context();
                world.on(0).backward(next, again.roots(world.call_of(0)));
                return has_gradients(world.on(0).gradients(next), again.leaves[0], expected[0]);
            }
        );
        CHECK(right);
    }
}

/// A rank dies while backward is under way.
inline void die_at_each_call() {
    for (const int who : {1, 2}) {
        INFO("rank " << who << " dies");
        const Comparison right = disturb_each_call(
            [who](AutogradWorld& world, ContextId) { world.network.kill(who); },
            [](AutogradWorld& world, ContextId context) {
                world.on(0).release(context);
                return Comparison{
                    world.on(0).contexts().empty(), "a context is there after its release"};
            }
        );
        CHECK(right);
    }
}

}  // namespace dist::harness
