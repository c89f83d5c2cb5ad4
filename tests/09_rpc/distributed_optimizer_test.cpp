// What distributed_optimizer must do: step as the local optimizer does, by one call to each owner.
#include "exercises/09_rpc/distributed_optimizer.hpp"

#include <ATen/ops/ones.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/owned_parameters.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Ms = std::chrono::milliseconds;

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

/// Whether all parameters are as after these steps of one trainer in one process.
void agree_with_steps(
    const OwnerWorld& world, const Options& options, const std::vector<ContextId>& contexts
) {
    for (int owner = 0; owner < world.size(); ++owner) {
        LocalTraining local(owner);
        local.add_trainer(0, options);
        for (const ContextId context : contexts) {
            local.step(0, context, world);
        }
        const Comparison result = local.agrees(world);
        CHECK(result);
    }
}

}  // namespace

TEST_CASE("steps are those of the local optimizer, to the last bit") {
    with_seeds([](std::uint64_t seed) {
        for (const Options& options : kOptimizers) {
            INFO(name_of(options));
            OwnerWorld world(seed);
            world.on_rank_0([&] {
                DistributedOptimizer optimizer(world.rpc(0), options, kAll);
                for (ContextId context = 1; context <= 4; ++context) {
                    optimizer.step(context);
                }
            });
            agree_with_steps(world, options, {1, 2, 3, 4});
        }
    });
}

TEST_CASE("a step is one call to each owner, and so is the beginning") {
    on_ranks({1}, [](const Communicator&) {
        OwnerWorld world;
        world.on_rank_0([&] {
            const auto& calls = world.network.calls;
            DistributedOptimizer optimizer(world.rpc(0), {}, {{1, "a"}, {2, "a"}, {1, "b"}});
            INFO("parameters a and b of rank 1, and a of rank 2");
            CHECK(calls.size() == 2);
            optimizer.step(1);
            CHECK(calls.size() == 4);
            for (const BegunCall& call : calls) {
                CHECK(call.to != 0);
            }
        });
        CHECK(world.steps[1] == std::vector<ContextId>{1});
    });
}

TEST_CASE("all owners step at a time") {
    on_ranks({1}, [](const Communicator&) {
        OwnerWorld world;
        world.at_step = [&](int, ContextId) { world.network.time.sleep(Ms(100)); };
        Ms spent{0};
        world.on_rank_0([&] {
            DistributedOptimizer optimizer(world.rpc(0), {}, {{1, "a"}, {2, "a"}});
            const Ms begin = world.network.time.now();
            optimizer.step(1);
            spent = world.network.time.now() - begin;
        });
        INFO("two owners, of which each takes 100 ms; the step takes " << spent.count() << " ms");
        CHECK(spent >= Ms(100));
        CHECK(spent < Ms(150));
    });
}

TEST_CASE("a parameter without a gradient in the context stays as it is, whatever its .grad() is") {
    with_seeds([](std::uint64_t seed) {
        for (const Options& options : kOptimizers) {
            INFO(name_of(options));
            OwnerWorld world(seed);
            INFO("four steps; in the second and the fourth one only a of rank 1 has a gradient");
            world.has_gradient = [](ContextId context, int owner, std::size_t i) {
                return context % 2 == 1 || (owner == 1 && i == 0);
            };
            const at::Tensor decoy = at::ones({5}).mul(1000);
            world.parameters(1)[1].mutable_grad() = decoy;
            world.on_rank_0([&] {
                DistributedOptimizer optimizer(world.rpc(0), options, kAll);
                for (ContextId context = 1; context <= 4; ++context) {
                    optimizer.step(context);
                }
            });
            agree_with_steps(world, options, {1, 2, 3, 4});
            INFO("b of rank 1 has a .grad() of its own");
            CHECK(world.parameters(1)[1].grad().is_same(decoy));
            CHECK(elements(decoy) == std::vector<float>(5, 1000));
            CHECK_FALSE(world.parameters(1)[0].grad().defined());
            CHECK(world.parameters(1)[0].requires_grad());
        }
    });
}

TEST_CASE("only the parameters that were named are stepped") {
    on_ranks({1}, [](const Communicator&) {
        OwnerWorld world;
        world.on_rank_0([&] {
            DistributedOptimizer optimizer(world.rpc(0), {}, {{1, "b"}});
            optimizer.step(1);
        });
        world.has_gradient = [](ContextId, int owner, std::size_t i) {
            return owner == 1 && i == 1;
        };
        agree_with_steps(world, {}, {1});
    });
}

TEST_CASE("a step that fails on an owner throws when all have answered, and the next one is as ever"
) {
    with_seeds([](std::uint64_t seed) {
        const Options options = {.rate = 0.1, .momentum = 0.9};
        OwnerWorld world(seed);
        world.at_step = [&](int owner, ContextId context) {
            if (context == 2 && owner == 1) {
                throw std::runtime_error("no such context today");
            }
            if (context == 4 && owner != 0) {
                world.network.time.sleep(Ms(owner == 1 ? 40 : 0));
                throw std::runtime_error("nor on this day");
            }
            world.network.time.sleep(Ms(20 * owner));
        };
        int blamed = -1;
        int blamed_of_two = -1;
        std::string reason;
        Comparison all_through;
        world.on_rank_0([&] {
            DistributedOptimizer optimizer(world.rpc(0), options, kAll);
            optimizer.step(1);
            try {
                optimizer.step(2);
            } catch (const RemoteError& error) {
                blamed = error.rank();
                reason = error.reason();
            }
            all_through = world.network.all_through();
            optimizer.step(3);
            try {
                optimizer.step(4);
            } catch (const RemoteError& error) {
                blamed_of_two = error.rank();
            }
        });
        INFO("in the second step rank 1 throws; rank 2 takes 40 ms longer. Then step() throws");
        CHECK(blamed == 1);
        CHECK(reason == "no such context today");
        CHECK(all_through);
        {
            INFO("in the fourth step ranks 2 and 1 throw, in this order: step() blames rank 1");
            CHECK(blamed_of_two == 1);
        }
        INFO("who throws has not taken the second step, or the fourth, and the others have");
        world.has_gradient = [](ContextId context, int owner, std::size_t) {
            return (context != 2 || owner != 1) && (context != 4 || owner == 0);
        };
        agree_with_steps(world, options, {1, 2, 3, 4});
    });
}

TEST_CASE(
    "an optimizer that an owner refuses throws when all have answered; another one can be made"
) {
    with_seeds([](std::uint64_t seed) {
        OwnerWorld world(seed);
        int blamed = -1;
        std::string reason;
        Comparison all_through;
        world.on_rank_0([&] {
            try {
                const DistributedOptimizer bad(world.rpc(0), {}, {{2, "a"}, {0, "b"}, {1, "c"}});
            } catch (const RemoteError& error) {
                blamed = error.rank();
                reason = error.reason();
            }
            all_through = world.network.all_through();
            DistributedOptimizer good(world.rpc(0), {}, kAll);
            good.step(1);
        });
        INFO("rank 1 has no parameter \"c\". Then the constructor throws: " << reason);
        CHECK(blamed == 1);
        CHECK(reason.find("c") != std::string::npos);
        CHECK(all_through);
        agree_with_steps(world, {}, {1});
    });
}

TEST_CASE("no parameter, or one that is named twice, is refused before any call") {
    on_ranks({1}, [](const Communicator&) {
        OwnerWorld world;
        world.on_rank_0([&] {
            const auto refuses = [&](const std::vector<RemoteParameter>& parameters) {
                CHECK_THROWS_AS(
                    DistributedOptimizer(world.rpc(0), {}, parameters), std::invalid_argument
                );
                CHECK(world.network.calls.empty());
            };
            refuses({});
            refuses({{1, "a"}, {2, "a"}, {1, "a"}});
            CHECK_THROWS_AS(world.owner(1).add("a", at::ones({2})), std::invalid_argument);
        });
    });
}

TEST_CASE("two trainers at the same time: each step is whole, and each has a momentum of its own") {
    with_seeds([](std::uint64_t seed) {
        for (const Options& first : kOptimizers) {
            const std::map<int, Options> trainers = {{0, first}, {2, kOptimizers[1]}};
            OwnerWorld world(seed);
            const auto train = [&](int rank) {
                DistributedOptimizer optimizer(world.rpc(rank), trainers.at(rank), kAll);
                for (int step = 1; step <= 5; ++step) {
                    optimizer.step(10 * (rank + 1) + step);
                }
            };
            const Comparison ended = world.run({{0, [&] { train(0); }}, {2, [&] { train(2); }}});
            CHECK(ended);
            INFO("rank 0 with " << name_of(first) << ", rank 2 with " << name_of(kOptimizers[1]));
            for (int owner = 0; owner < world.size(); ++owner) {
                LocalTraining local(owner);
                for (const auto& [trainer, options] : trainers) {
                    local.add_trainer(trainer, options);
                }
                CHECK(world.steps[owner].size() == 10);
                for (const ContextId context : world.steps[owner]) {
                    local.step(static_cast<int>(context / 10 - 1), context, world);
                }
                const Comparison result = local.agrees(world);
                CHECK(result);
            }
        }
    });
}

TEST_CASE("an owner that has died is an error that names it, when all others have answered") {
    on_ranks({1}, [](const Communicator&) {
        OwnerWorld world;
        world.at_step = [&](int owner, ContextId) { world.network.time.sleep(Ms(20 * owner)); };
        std::string text;
        world.on_rank_0([&] {
            DistributedOptimizer optimizer(world.rpc(0), {}, kAll);
            world.network.kill(1);
            try {
                optimizer.step(1);
            } catch (const Error& error) {
                text = error.what();
            }
        });
        CHECK(text == "rank 1 has died");
        world.has_gradient = [](ContextId, int owner, std::size_t) { return owner != 1; };
        agree_with_steps(world, {}, {1});
    });
}

TEST_CASE("forward, backward and step across ranks train as one process does") {
    with_seeds([](std::uint64_t seed) {
        const Options options = {.rate = 0.01, .momentum = 0.5};
        const auto weights = [](int rank) { return filled({3}, rank, 9).requires_grad_(); };
        CallWorld world(2, seed);
        std::vector<std::unique_ptr<DistAutograd>> autograds;
        std::vector<std::unique_ptr<ParameterOwner>> owners;
        Tensors own;
        for (int rank = 0; rank < 2; ++rank) {
            autograds.push_back(std::make_unique<DistAutograd>(world.rpc(rank)));
            DistAutograd& autograd = *autograds.back();
            own.push_back(weights(rank));
            owners.push_back(std::make_unique<ParameterOwner>(
                world.rpc(rank), [&autograd](ContextId id) { return autograd.gradients(id); }
            ));
            owners.back()->add("w", own.back());
            autograd.define("layer", [w = own.back()](const Tensors& in) {
                return Tensors{in[0].mul(w).tanh()};
            });
        }
        const Comparison ended = world.run(
            {{0,
              [&] {
                  DistributedOptimizer optimizer(world.rpc(0), options, {{0, "w"}, {1, "w"}});
                  for (int step = 0; step < 3; ++step) {
                      const ContextId context = autograds[0]->new_context();
                      const at::Tensor h = filled({3}, step, 3).mul(own[0]);
                      autograds[0]->backward(
                          context, {autograds[0]->call(1, "layer", {h})[0].sum()}
                      );
                      optimizer.step(context);
                      autograds[0]->release(context);
                  }
              }}}
        );
        CHECK(ended);
        const Tensors local = {weights(0), weights(1)};
        nn::Optimizer optimizer(options, local);
        for (int step = 0; step < 3; ++step) {
            optimizer.zero_grad();
            filled({3}, step, 3).mul(local[0]).mul(local[1]).tanh().sum().backward();
            optimizer.step();
        }
        for (std::size_t i = 0; i < 2; ++i) {
            INFO("w of rank " << i << " after three steps");
            const Comparison result = same(elements(own[i]), elements(local[i]));
            CHECK(result);
        }
    });
}
