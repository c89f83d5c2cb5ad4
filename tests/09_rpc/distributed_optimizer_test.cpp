// What distributed_optimizer must do: step as the local optimizer does, by one call to each owner. Ranks are those of a world, then
// processes.
#include "exercises/09_rpc/distributed_optimizer.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/counted.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Tensors = std::vector<at::Tensor>;
using Options = nn::OptimizerOptions;

constexpr int kRanks = 3;

const std::vector<Options> kOptimizers = {
    {.rate = 0.1},
    {.rate = 0.1, .momentum = 0.9},
    {.rate = 0.05, .weight_decay = 0.01, .momentum = 0.8, .nesterov = true},
    {.kind = Options::Kind::adamw, .rate = 0.01, .weight_decay = 0.1},
    {.kind = Options::Kind::adamw, .rate = 0.02, .beta1 = 0.7, .beta2 = 0.95, .epsilon = 1e-3}};

const std::vector<RemoteParameter> kAll = {{2, "b"}, {0, "a"}, {1, "a"},
                                           {1, "b"}, {0, "b"}, {2, "a"}};

std::string name_of(const Options& options) {
    const bool is_sgd = options.kind == Options::Kind::sgd;
    return text(
        is_sgd ? "sgd, momentum " : "adamw, beta1 ", is_sgd ? options.momentum : options.beta1,
        ", weight decay ", options.weight_decay
    );
}

Tensors first_weights(int rank) {
    return {filled({2, 3}, rank, 1).requires_grad_(), filled({5}, rank, 2).requires_grad_()};
}

/// The gradient of a parameter in a context: some numbers that only they have.
at::Tensor gradient_in(ContextId context, int owner, std::size_t i, at::IntArrayRef shape) {
    const auto salt = static_cast<std::uint64_t>(context) * 100 + i;
    return filled(shape, owner, salt).div(7);
}

struct OwnerPlace : CountedPlace {
    using CountedPlace::CountedPlace;

    std::unique_ptr<ParameterOwner> owner;
};

/// Ranks that own parameters "a" and "b" each, with gradients that the test puts into contexts.
struct Owners {
    explicit Owners(World& its_world) : world(its_world) { world.slowest = 3ms; }

    /// These ranks do this, and the others serve.
    void play(
        const std::map<int, std::function<void(OwnerPlace& me)>>& bodies,
        TestLine line = TestLine::here()
    ) {
        world.play<OwnerPlace>(
            [&](OwnerPlace& me) {
                me.owner = std::make_unique<ParameterOwner>(
                    me.rpc, [this, rank = me.rank](ContextId id) { return gradients(rank, id); }
                );
                const Tensors& own = parameters[static_cast<std::size_t>(me.rank)];
                me.owner->add("a", own[0]);
                me.owner->add("b", own[1]);
                me.sleep(1ms);  // all own their parameters
                if (const auto body = bodies.find(me.rank); body != bodies.end()) {
                    body->second(me);
                }
                me.agent->shutdown();
            },
            line
        );
    }

    Gradients gradients(int rank, ContextId context) {
        at_step(rank, context);
        steps[rank].push_back(context);
        Gradients all;
        for (std::size_t i = 0; i < 2; ++i) {
            const at::Tensor& parameter = parameters[static_cast<std::size_t>(rank)][i];
            if (has_gradient(context, rank, i)) {
                all[parameter] = gradient_in(context, rank, i, parameter.sizes());
            }
        }
        return all;
    }

    /// Whether all parameters are as after these steps in one process, with an optimizer for each trainer. By owner: the contexts
    /// by which it stepped, and the trainers.
    [[nodiscard]] Comparison have_stepped(
        const std::map<int, Options>& trainers,
        const std::function<std::vector<std::pair<int, ContextId>>(int owner)>& order
    ) const {
        for (int owner = 0; owner < kRanks; ++owner) {
            Tensors local = first_weights(owner);
            std::map<int, nn::Optimizer> optimizers;
            for (const auto& [trainer, options] : trainers) {
                optimizers.emplace(trainer, nn::Optimizer(options, local));
            }
            for (const auto& [trainer, context] : order(owner)) {
                for (std::size_t i = 0; i < 2; ++i) {
                    local[i].mutable_grad() = has_gradient(context, owner, i)
                                                  ? gradient_in(context, owner, i, local[i].sizes())
                                                  : at::Tensor();
                }
                optimizers.at(trainer).step();
            }
            for (std::size_t i = 0; i < 2; ++i) {
                const at::Tensor& own = parameters[static_cast<std::size_t>(owner)][i];
                const Comparison is_right = same(elements(own), elements(local[i]));
                if (!is_right) {
                    const std::string name = i == 0 ? "parameter a" : "parameter b";
                    return {false, text(name, " of rank ", owner, ": ", is_right.text)};
                }
            }
        }
        return {};
    }

    /// The same, of rank 0's steps alone.
    [[nodiscard]] Comparison have_stepped(
        const Options& options, const std::vector<ContextId>& contexts
    ) const {
        return have_stepped({{0, options}}, [&](int) {
            std::vector<std::pair<int, ContextId>> order;
            for (const ContextId context : contexts) {
                order.emplace_back(0, context);
            }
            return order;
        });
    }

    World& world;
    std::vector<Tensors> parameters = {first_weights(0), first_weights(1), first_weights(2)};
    std::map<int, std::vector<ContextId>> steps = {};  // by owner: contexts, in their order
    std::function<bool(ContextId context, int owner, std::size_t i)> has_gradient =
        [](ContextId, int, std::size_t) { return true; };
    /// Called when an owner is asked for its gradients.
    std::function<void(int owner, ContextId context)> at_step = [](int, ContextId) {};
};

void owners(const std::function<void(Owners& all)>& body) {
    worlds({kRanks}, [&](World& world) {
        Owners all(world);
        body(all);
    });
}

/// A trainer that makes steps 1, 2, ... with all parameters.
std::function<void(OwnerPlace& me)> steps(const Options& options, ContextId n) {
    return [=](OwnerPlace& me) {
        DistributedOptimizer optimizer(me.rpc, options, kAll);
        for (ContextId context = 1; context <= n; ++context) {
            optimizer.step(context);
        }
    };
}

/// Which rank's error comes out of the call, and its reason. Then all calls are through.
std::string blamed(OwnerPlace& me, const std::function<void()>& call) {
    std::string error = "nothing";
    try {
        call();
    } catch (const RemoteError& thrown) {
        error = text("rank ", thrown.rank(), ": ", thrown.reason());
    }
    must(me.rpc.open().empty(), "it throws, and ", me.rpc.open());
    return error;
}

}  // namespace

// First: where gradients were computed, LibTorch computes none in a process that is forked afterwards.
TEST_CASE("on processes forward, backward and step across ranks train as one process does") {
    on_one([] {
        const Options options = {.rate = 0.01, .momentum = 0.5};
        const auto weights = [](int rank) { return filled({3}, rank, 9).requires_grad_(); };
        const Processes run = on_transport(2, [&](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            DistAutograd autograd(agent);
            ParameterOwner owner(agent, [&](ContextId id) { return autograd.gradients(id); });
            const at::Tensor own = weights(rank);
            owner.add("w", own);
            autograd.define("layer", [&](const Tensors& in) {
                return Tensors{in[0].mul(own).tanh()};
            });
            if (rank == 0) {
                DistributedOptimizer distributed(agent, options, {{0, "w"}, {1, "w"}});
                for (int step = 0; step < 3; ++step) {
                    const ContextId context = autograd.new_context();
                    const at::Tensor h = filled({3}, step, 3).mul(own);
                    autograd.backward(context, {autograd.call(1, "layer", {h})[0].sum()});
                    distributed.step(context);
                    autograd.release(context);
                }
            }
            agent.shutdown();
            const Tensors local = {weights(0), weights(1)};
            nn::Optimizer optimizer(options, local);
            for (int step = 0; step < 3; ++step) {
                optimizer.zero_grad();
                filled({3}, step, 3).mul(local[0]).mul(local[1]).tanh().sum().backward();
                optimizer.step();
            }
            INFO("w of rank " << rank << " after three steps");
            CHECK(same(elements(own), elements(local[static_cast<std::size_t>(rank)])));
        });
        CHECK(run.passed);
    });
}

TEST_CASE("steps are those of the local optimizer, to the last bit") {
    for (const Options& options : kOptimizers) {
        owners([&](Owners& all) {
            INFO(name_of(options));
            all.play({{0, steps(options, 4)}});
            CHECK(all.have_stepped(options, {1, 2, 3, 4}));
        });
    }
}

TEST_CASE("a step is one call to each owner, at a time, for the parameters that were named") {
    owners([](Owners& all) {
        std::multiset<int> made;
        std::multiset<int> stepped;
        Ms spent{0};
        all.at_step = [&](int, ContextId) { all.world.time.sleep(100ms); };
        const auto rank_0 = [&](OwnerPlace& me) {
            me.rpc.begins = [&](int to, const std::string&) { made.insert(to); };
            DistributedOptimizer optimizer(me.rpc, {}, {{1, "a"}, {2, "a"}, {1, "b"}});
            me.rpc.begins = [&](int to, const std::string&) { stepped.insert(to); };
            spent = -me.now();
            optimizer.step(1);
            spent += me.now();
        };
        all.play({{0, rank_0}});
        INFO("parameters a and b of rank 1, and a of rank 2; these ranks are called");
        CHECK(made == std::multiset{1, 2});
        CHECK(stepped == std::multiset{1, 2});
        CHECK(all.steps[1] == std::vector<ContextId>{1});
        INFO("each owner takes 100 ms; the step takes " << text(spent));
        CHECK(spent >= 100ms);
        CHECK(spent < 150ms);
        all.has_gradient = [](ContextId, int owner, std::size_t i) {
            return owner == 1 || (owner == 2 && i == 0);
        };
        CHECK(all.have_stepped({}, {1}));
    });
}

TEST_CASE("a parameter without a gradient in the context stays as it is, whatever its .grad() is") {
    for (const Options& options : kOptimizers) {
        owners([&](Owners& all) {
            INFO(name_of(options));
            INFO("four steps; in the second and the fourth one only a of rank 1 has a gradient");
            all.has_gradient = [](ContextId context, int owner, std::size_t i) {
                return context % 2 == 1 || (owner == 1 && i == 0);
            };
            const at::Tensor decoy = at::ones({5}).mul(1000);
            const Tensors& of_1 = all.parameters[1];
            of_1[1].mutable_grad() = decoy;
            all.play({{0, steps(options, 4)}});
            CHECK(all.have_stepped(options, {1, 2, 3, 4}));
            INFO("b of rank 1 has a .grad() of its own");
            CHECK(of_1[1].grad().is_same(decoy));
            CHECK(elements(decoy) == std::vector<float>(5, 1000));
            CHECK_FALSE(of_1[0].grad().defined());
            CHECK(of_1[0].requires_grad());
        });
    }
}

TEST_CASE("a step that fails on an owner throws when all have answered, and the next one is as ever"
) {
    owners([](Owners& all) {
        const Options options = {.rate = 0.1, .momentum = 0.9};
        all.at_step = [&](int owner, ContextId context) {
            if (context == 2 && owner == 1) {
                throw std::runtime_error("no such context today");
            }
            if (context == 4 && owner != 0) {
                all.world.time.sleep(owner == 1 ? 40ms : 0ms);
                throw std::runtime_error("nor on this day");
            }
            all.world.time.sleep(Ms(20 * owner));
        };
        std::string of_2;
        std::string of_4;
        const auto rank_0 = [&](OwnerPlace& me) {
            DistributedOptimizer optimizer(me.rpc, options, kAll);
            optimizer.step(1);
            of_2 = blamed(me, [&] { optimizer.step(2); });
            optimizer.step(3);
            of_4 = blamed(me, [&] { optimizer.step(4); });
        };
        all.play({{0, rank_0}});
        INFO("in the second step rank 1 throws, and in the fourth one ranks 2 and 1, in this order"
        );
        CHECK(of_2 == "rank 1: no such context today");
        CHECK(of_4 == "rank 1: nor on this day");
        INFO("who throws has not taken the second step, or the fourth, and the others have");
        all.has_gradient = [](ContextId context, int owner, std::size_t) {
            return (context != 2 || owner != 1) && (context != 4 || owner == 0);
        };
        CHECK(all.have_stepped(options, {1, 2, 3, 4}));
    });
}

TEST_CASE(
    "an optimizer that an owner refuses throws when all have answered; another one can be made"
) {
    owners([](Owners& all) {
        std::string error;
        const auto rank_0 = [&](OwnerPlace& me) {
            error = blamed(me, [&] {
                const DistributedOptimizer bad(me.rpc, {}, {{2, "a"}, {0, "b"}, {1, "c"}});
            });
            steps({}, 1)(me);
        };
        all.play({{0, rank_0}});
        INFO("rank 1 has no parameter \"c\". Then the constructor throws: " << error);
        CHECK(error.starts_with("rank 1: "));
        CHECK(error.find("c", 8) != std::string::npos);
        CHECK(all.have_stepped({}, {1}));
    });
}

TEST_CASE("no parameter, or one that is named twice, is refused before any call") {
    owners([](Owners& all) {
        const auto rank_0 = [](OwnerPlace& me) {
            const auto refuses = [&](const std::vector<RemoteParameter>& parameters) {
                const auto make = [&] { DistributedOptimizer(me.rpc, {}, parameters); };
                must_be(
                    thrown_as(make), "std::invalid_argument",
                    text("what an optimizer of ", parameters.size(), " parameters throws")
                );
                must(me.rpc.begun.empty(), "a call was made before the refusal");
            };
            refuses({});
            refuses({{1, "a"}, {2, "a"}, {1, "a"}});
            must_be(
                thrown_as([&] { me.owner->add("a", at::ones({2})); }), "std::invalid_argument",
                "what a second parameter of a name throws"
            );
        };
        all.play({{0, rank_0}});
    });
}

TEST_CASE("two trainers at the same time: each step is whole, and each has a momentum of its own") {
    for (const Options& first : kOptimizers) {
        owners([&](Owners& all) {
            const std::map<int, Options> trainers = {{0, first}, {2, kOptimizers[1]}};
            const auto train = [&](OwnerPlace& me) {
                DistributedOptimizer optimizer(me.rpc, trainers.at(me.rank), kAll);
                for (int step = 1; step <= 5; ++step) {
                    optimizer.step(10 * (me.rank + 1) + step);
                }
            };
            all.play({{0, train}, {2, train}});
            INFO("rank 0 with " << name_of(first) << ", rank 2 with " << name_of(kOptimizers[1]));
            for (int owner = 0; owner < kRanks; ++owner) {
                CHECK(all.steps[owner].size() == 10);
            }
            CHECK(all.have_stepped(trainers, [&](int owner) {
                std::vector<std::pair<int, ContextId>> order;
                for (const ContextId context : all.steps[owner]) {
                    order.emplace_back(static_cast<int>(context / 10 - 1), context);
                }
                return order;
            }));
        });
    }
}

TEST_CASE("an owner that has died is an error that names it, when all others have answered") {
    owners([](Owners& all) {
        all.at_step = [&](int owner, ContextId) { all.world.time.sleep(Ms(20 * owner)); };
        std::string error;
        const auto rank_0 = [&](OwnerPlace& me) {
            DistributedOptimizer optimizer(me.rpc, {}, kAll);
            all.world.kill(1);
            error = error_of([&] { optimizer.step(1); });
        };
        all.play({{0, rank_0}});
        CHECK(error.starts_with("rank 1 has died"));
        all.has_gradient = [](ContextId, int owner, std::size_t) { return owner != 1; };
        CHECK(all.have_stepped({}, {1}));
    });
}
