// What dist_autograd must do: gradients as in one process, whichever ranks compute what.
#include "exercises/09_rpc/dist_autograd.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/autograd_contexts.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Runs a body with several seeds: what comes when, and who goes on first.
void with_seeds(const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [](int) { return 3; },
        [&](const Communicator&, std::size_t number) {
            const std::uint64_t seed = number + 1;
            INFO("seed " << seed);
            body(seed);
        }
    );
}

/// What the program's forward pass has recorded on each rank, and who has a context.
std::string recorded(const Program& program) {
    AutogradWorld world(static_cast<int>(program.leaves.size()));
    world.define(program);
    std::string text;
    on_rank_0(world, [&] {
        const ContextId context = world.on(0).new_context();
        const Tensors kept = program.roots(world.call_of(0));
        for (int rank = 0; rank < world.size(); ++rank) {
            const Recorded here = world.on(rank).recorded(context);
            text += std::to_string(here.sends) + " sends and " + std::to_string(here.recvs) +
                    " recvs; ";
        }
    });
    return text;
}

}  // namespace

TEST_CASE("gradients on all ranks are those of one process") {
    with_seeds([](std::uint64_t seed) {
        for (const Program& program : all_programs()) {
            const Comparison result = as_in_one_process(program, seed);
            CHECK(result);
        }
    });
}

TEST_CASE("two passes in one context add up") {
    with_seeds([](std::uint64_t seed) {
        for (const Program& program : {one_call(), joining(), chain()}) {
            const Comparison result = as_in_one_process(program, seed, 2);
            CHECK(result);
        }
    });
}

TEST_CASE("a call with gradients is a send and a recv on each side, and a call within it as well") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(recorded(one_call()) == "1 sends and 1 recvs; 1 sends and 1 recvs; ");
        INFO("rank 0 calls 1, which calls 0");
        CHECK(recorded(around(2, 2)) == "2 sends and 2 recvs; 2 sends and 2 recvs; ");
    });
}

TEST_CASE(
    "where no tensor needs a gradient nothing is recorded, and the context travels all the same"
) {
    on_ranks({1}, [](const Communicator&) {
        INFO("only the results need gradients");
        CHECK(recorded(only_the_result()) == "0 sends and 1 recvs; 1 sends and 0 recvs; ");
        Program plain = {"plain", {{}, {}, {leaf({2})}}};
        plain.functions["next"] = [=](int rank, const CallFunction& call, const Tensors& in) {
            return rank == 2 ? Tensors{plain.leaves[2][0].mul(in[0]).detach()}
                             : call(rank + 1, "next", in);
        };
        plain.roots = [](const CallFunction& call) { return call(1, "next", {filled({1}, {3})}); };
        INFO("rank 0 calls 1, which calls 2, and nothing needs a gradient");
        CHECK(recorded(plain) == "0 sends and 0 recvs; 0 sends and 0 recvs; 0 sends and 0 recvs; ");
    });
}

TEST_CASE("a tensor requires a gradient on the other side if it does so on this one") {
    on_ranks({1}, [](const Communicator&) {
        AutogradWorld world(2);
        std::string seen;
        const auto note = [&](const Tensors& tensors) {
            for (const at::Tensor& tensor : tensors) {
                seen += tensor.defined() && tensor.requires_grad() ? "1" : "0";
            }
            seen += " ";
        };
        world.on(1).define("look", [&](const Tensors& in) {
            note(in);
            return Tensors{in[0], in[1].mul(2), in[1].detach(), in[2], {}};
        });
        const at::Tensor x = leaf({1, 2});
        const Tensors arguments = {filled({2}, {3, 4}), x.mul(2), at::full({}, 1, at::kLong), {}};
        on_rank_0(world, [&] {
            note(world.on(0).call(1, "look", arguments));
            world.on(0).new_context();
            note(world.on(0).call(1, "look", arguments));
            const c10::AutoGradMode off(false);
            note(world.on(0).call(1, "look", arguments));
        });
        INFO(
            "four arguments there, and five results here: without a context, in one, and in one "
            "while gradients are off"
        );
        CHECK(seen == "0000 00000 0100 01000 0000 00000 ");
    });
}

TEST_CASE("what a rank waits in is not that of the functions which it runs meanwhile") {
    with_seeds(serve_others_while_it_waits);
}

TEST_CASE("two contexts at the same time share weights, and no gradients") {
    with_seeds(share_weights_and_no_gradients);
}

TEST_CASE(
    "contexts: whose they are, one at a time, known by name, and gone everywhere when released"
) {
    with_seeds(make_and_release_contexts);
}

TEST_CASE("a call that throws there throws here, and its context is released there as well") {
    with_seeds([](std::uint64_t seed) {
        AutogradWorld world(2, seed);
        world.on(1).define("bad", [](const Tensors&) -> Tensors {
            throw std::runtime_error("not today");
        });
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            const std::string error = error_of([&] { world.on(0).call(1, "bad", {leaf({1})}); });
            CHECK(error.find("not today") != std::string::npos);
            {
                INFO("then rank 1 makes a context of its own: its calls are in none");
                ContextId own = 0;
                CHECK_NOTHROW(own = world.on(1).new_context());
                error_of([&] { world.on(1).release(own); });
            }
            CHECK_THROWS_AS(world.on(0).call(2, "no such rank", {}), std::invalid_argument);
            world.on(0).release(context);
            const Comparison clean = world.is_clean();
            CHECK(clean);
            CHECK_THROWS_AS(world.on(0).call(1, "nobody has this", {}), Error);
        });
    });
}

TEST_CASE("a call costs one call, backward at most two for each tensor that matters") {
    on_ranks({1}, [](const Communicator&) {
        const auto cost = [](const Program& program) {
            AutogradWorld world(static_cast<int>(program.leaves.size()));
            world.define(program);
            std::vector<std::size_t> calls = {0};
            on_rank_0(world, [&] {
                const ContextId context = world.on(0).new_context();
                const Tensors roots = program.roots(world.call_of(0));
                calls.push_back(world.network.calls.size());
                world.on(0).backward(context, roots);
                calls.push_back(world.network.calls.size());
                world.on(0).release(context);
                calls.push_back(world.network.calls.size());
            });
            return calls;
        };
        const std::vector<std::size_t> one = cost(one_call());
        CHECK(one[1] == 1);
        CHECK(one[2] - one[1] <= 4);
        CHECK(one[3] - one[2] == 1);
        INFO("6 calls, each with a tensor and a result");
        const std::vector<std::size_t> six = cost(chain());
        CHECK(six[1] == 6);
        CHECK(six[2] - six[1] <= 24);
        INFO("5 calls; the loss uses one of them: a tensor, and a result");
        const std::vector<std::size_t> used = cost(unused());
        CHECK(used[1] == 5);
        CHECK(used[2] - used[1] <= 4);
    });
}

TEST_CASE("roots that are none are refused, before anything is sent") {
    on_ranks({1}, [](const Communicator&) {
        AutogradWorld world(2);
        const Program program = one_call();
        world.define(program);
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            const at::Tensor good = program.roots(world.call_of(0))[0];
            const at::Tensor x = leaf({1});
            const std::size_t calls = world.network.calls.size();
            const auto refuses = [&](const char* what, const Tensors& roots) {
                INFO(what);
                CHECK_THROWS_AS(world.on(0).backward(context, roots), std::invalid_argument);
                CHECK(world.network.calls.size() == calls);
            };
            refuses("no root", {});
            refuses("two elements", {good, leaf({1, 2}).mul(2)});
            refuses("a leaf", {good, x});
            refuses("without gradient", {good, at::zeros({})});
            refuses("undefined", {good, {}});
            CHECK(world.on(0).gradients(context).empty());
            CHECK_THROWS_AS(good.backward(), Error);
            world.on(0).backward(context, {good});
        });
    });
}

TEST_CASE("what was sent or received may be changed in place afterwards") {
    on_ranks({1}, [](const Communicator&) {
        AutogradWorld world(2);
        const at::Tensor w = leaf({2, 3});
        world.on(1).define("layer", [&](const Tensors& in) {
            in[0].add_(1);
            return Tensors{in[0].mul(w)};
        });
        const at::Tensor x = leaf({1, 2});
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            const at::Tensor h = x.mul(3);
            const at::Tensor y = world.on(0).call(1, "layer", {h})[0];
            h.mul_(10);
            y.mul_(2);
            world.on(0).backward(context, {y.sum()});
            INFO(
                "h = 3x is sent, then multiplied by 10; there y = (h + 1)w, by 1 in place; here y "
                "is doubled"
            );
            CHECK(text_of(world.on(0).gradients(context).at(x)) == "Float [12, 18]");
            CHECK(text_of(world.on(1).gradients(context).at(w)) == "Float [8, 14]");
        });
    });
}

TEST_CASE("gradients share no memory, and what was returned stays as it is") {
    on_ranks({1}, [](const Communicator&) {
        AutogradWorld world(1);
        const at::Tensor a = leaf({1, 2});
        const at::Tensor b = leaf({3, 4});
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            const Tensors roots = {a.add(b).mul(filled({2}, {5, 6})).sum()};
            world.on(0).backward(context, roots);
            const Gradients first = world.on(0).gradients(context);
            first.at(a).mul_(100);
            CHECK(text_of(first.at(b)) == "Float [5, 6]");
            world.on(0).backward(context, roots);
            CHECK(text_of(first.at(b)) == "Float [5, 6]");
            CHECK(text_of(world.on(0).gradients(context).at(b)) == "Float [10, 12]");
        });
    });
}

TEST_CASE("an error two hops away arrives at the root, and the next pass is as ever") {
    with_seeds(throw_two_hops_away);
}

TEST_CASE("an error comes out when the other ranks have done their part of the pass") {
    with_seeds(throw_beside_a_slow_one);
}

TEST_CASE("an operation may call other ranks in backward, while gradients arrive") {
    with_seeds([](std::uint64_t seed) {
        AutogradWorld* there = nullptr;
        Program program = two_hops([&] {
            if (there != nullptr) {
                there->on(2).call(1, "echo", {});
            }
        });
        const std::vector<Tensors> expected = plain_gradients(program);
        AutogradWorld world(3, seed);
        world.define(program);
        world.on(1).define("echo", [](const Tensors& in) { return in; });
        there = &world;
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            world.on(0).backward(context, program.roots(world.call_of(0)));
            for (int rank = 0; rank < 3; ++rank) {
                const auto r = static_cast<std::size_t>(rank);
                INFO("rank " << rank);
                const Comparison right = has_gradients(
                    world.on(rank).gradients(context), program.leaves[r], expected[r]
                );
                CHECK(right);
            }
        });
    });
}

TEST_CASE("a context released during backward is an error, and nobody waits for ever") {
    on_ranks({1}, [](const Communicator&) { release_at_each_call(); });
}

TEST_CASE("a rank dies before or during backward: an error, and nobody waits for ever") {
    on_ranks({1}, [](const Communicator&) {
        die_at_each_call();
        const Program program = two_hops([] {});
        AutogradWorld world(3);
        world.define(program);
        on_rank_0(world, [&] {
            const ContextId context = world.on(0).new_context();
            const Tensors roots = program.roots(world.call_of(0));
            world.network.kill(2);
            const std::string error = error_of([&] { world.on(0).backward(context, roots); });
            INFO("rank 2 is dead when backward begins on rank 0, which throws: " << error);
            CHECK(error.find("rank 2 has died") != std::string::npos);
        });
    });
}
