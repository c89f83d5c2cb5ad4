// What unused_parameters must do: the graph says which gradients will not come, on this rank and on all.
#include "exercises/06_ddp/unused_parameters.hpp"

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "course/protocol/counted.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/cost.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// A graph that is drawn: 100 operations on 70 parameters and on each other, and what each result uses.
struct DrawnGraph {
    DrawnGraph(const std::vector<at::Tensor>& parameters, std::uint64_t seed) {
        std::uint64_t i = 0;
        const auto random = [&](std::size_t below) { return seeded_bits(seed, i++) % below; };
        for (std::size_t number = 0; number < parameters.size(); ++number) {
            results.push_back(parameters[number]);
            uses.push_back({number});
        }
        for (int operation = 0; operation < 100; ++operation) {
            const std::size_t a = random(results.size());
            const std::size_t b = random(results.size());
            const bool is_detached = random(8) == 0;
            results.push_back(results[a].mul(is_detached ? results[b].detach() : results[b]));
            uses.push_back(uses[a]);
            if (!is_detached) {
                uses.back().insert(uses[b].begin(), uses[b].end());
            }
        }
    }

    std::vector<at::Tensor> results;
    std::vector<std::set<std::size_t>> uses;
};

const Forbid kForbid({"collectives"}, "what ranks exchange goes through your own ring_all_reduce");

const Sizes kAlike = {2, 2, 2, 2};  // parameters that differ in nothing but who they are
const Sizes kAll = {0, 1, 2, 3};

/// The numbers below n that are not in `numbers`.
Sizes all_but(const Sizes& numbers, std::size_t n) {
    Sizes others = backwards(n);
    std::erase_if(others, [&](std::size_t i) { return std::ranges::count(numbers, i) > 0; });
    return {others.rbegin(), others.rend()};
}

/// The parameters, of n, that rank r of p does not use. 0, 4, ... are used by no rank; 1, 5, ... by one
/// each; 2, 6, ... by all; 3, 7, ... by all but one each, if there is more than one.
Sizes unused_on(int r, int p, std::size_t n) {
    Sizes unused;
    for (std::size_t i = 0; i < n; ++i) {
        const bool is_its_turn = static_cast<int>(i / 4) % p == r;
        if (i % 4 == 0 || (i % 4 == 1 && !is_its_turn) || (i % 4 == 3 && is_its_turn && p > 1)) {
            unused.push_back(i);
        }
    }
    return unused;
}

void agrees(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : {20, 1, 0, 3}) {
            Sizes expected;
            for (std::size_t i = 0; i < n; i += 4) {
                expected.push_back(i);
            }
            const Sizes own = unused_on(comm.rank(), p, n);
            INFO("of " << counted(n, "parameter") << ", this rank does not use " << text_of({own}));
            const Sizes nowhere = unused_everywhere(own, n, comm);
            INFO(
                "used by none: 0, 4, ...; by one: 1, 5, ...; by all: 2, 6, ...; by all but one: 3, "
                "7, ..."
            );
            CHECK(nowhere == expected);
        }
    });
}

}  // namespace

TEST_CASE("unused_parameters names what the loss does not lead to, ascending") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        model.backward(kAll, {1, 2, 3, 4});  // the step before: all have gradients
        for (const Sizes& used : {Sizes{1, 2}, {3, 0}, {2}, {3, 2, 1, 0}, {}}) {
            // a gradient that is 0 comes all the same
            const at::Tensor loss = model.loss(used, {5, 0, -5, 5});
            INFO("of the parameters 0 to 3 the loss uses " << text_of({used}));
            CHECK(unused_parameters(loss, model.parameters) == all_but(used, 4));
        }
    });
}

TEST_CASE("unused_parameters follows all inputs of an operation, and stops at what is detached") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        const auto& x = model.parameters;
        const auto unused = [&](const at::Tensor& loss) { return unused_parameters(loss, x); };
        INFO("through other operations; shared; a part of one; the second input alone");
        CHECK(unused(x[3].mul(x[1]).exp().add(x[0].neg())) == Sizes{2});
        CHECK(unused(x[1].mul(2).add(x[1].mul(x[1]))) == Sizes{0, 2, 3});
        CHECK(unused(x[2][0].add(1)) == Sizes{0, 1, 3});
        CHECK(unused(at::zeros({2}).sub(x[3])) == Sizes{0, 1, 2});
        INFO("detached; another leaf in the memory of parameter 2");
        CHECK(unused(x[0].mul(x[1]).detach().add(x[2])) == Sizes{0, 1, 3});
        CHECK(unused(x[2].detach().requires_grad_().mul(x[1])) == Sizes{0, 2, 3});
    });
}

TEST_CASE("unused_parameters knows 70 parameters in any graph") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(Sizes(70, 1));
        for (std::uint64_t graph = 0; graph < 20; ++graph) {
            const DrawnGraph drawn(model.parameters, graph + seed());
            for (std::size_t i = 70; i < drawn.results.size(); i += 9) {
                const Sizes used(drawn.uses[i].begin(), drawn.uses[i].end());
                INFO("the loss uses " << text_of({used}));
                REQUIRE(unused_parameters(drawn.results[i], model.parameters) == all_but(used, 70));
            }
        }
    });
}

TEST_CASE("unused_parameters names all places of a parameter that stands in the list twice") {
    on_ranks({1}, [](const Communicator&) {
        const Model model({2, 2});
        const at::Tensor& shared = model.parameters[0];
        const at::Tensor& other = model.parameters[1];
        const std::vector<at::Tensor> list = {shared, other, shared};
        INFO("a weight that two layers share, as numbers 0 and 2; another one as number 1");
        CHECK(unused_parameters(shared.sum(), list) == Sizes{1});
        CHECK(unused_parameters(other.sum(), list) == Sizes{0, 2});
    });
}

TEST_CASE("unused_parameters keeps nothing of the graph") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        auto held = std::make_shared<int>();
        const std::weak_ptr<int> graph = held;
        at::Tensor loss = model.loss({0, 2}, {1, 2, 3, 4});
        loss.register_hook([held](const at::Tensor&) {});
        held.reset();
        unused_parameters(loss, model.parameters);
        loss.reset();
        INFO("the loss is gone, its graph is not: who holds a node of it?");
        CHECK(graph.expired());
    });
}

TEST_CASE("unused_parameters takes any loss: a parameter, one without a gradient, many numbers") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        const auto& x = model.parameters;
        CHECK(unused_parameters(x[2], x) == Sizes{0, 1, 3});
        CHECK(unused_parameters(at::zeros({}), x) == kAll);
        CHECK(unused_parameters(x[1].mul(x[0]).detach(), x) == kAll);
        CHECK(unused_parameters(x[1].mul(x[0]), x) == Sizes{2, 3});
        CHECK(unused_parameters(x[1].sum(), {}).empty());
    });
}

TEST_CASE("unused_parameters leaves the loss, its graph and all gradients as they are") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        model.backward(kAll, {1, 2, 3, 4});
        const at::Tensor loss = model.loss({0, 2}, {10, 20, 30, 40});
        for (int call = 1; call <= 2; ++call) {
            INFO("call " << call << " for this loss");
            CHECK(unused_parameters(loss, model.parameters) == Sizes{1, 3});
        }
        CHECK(loss.item<float>() == 80);
        CHECK(same(model.each_gradient(), model.of_each({1, 2, 3, 4})));
        loss.backward();
        INFO("after backward");
        CHECK(same(model.each_gradient(), model.of_each({11, 2, 33, 4})));
    });
}

TEST_CASE("unused_parameters looks at each node once, however many ways lead to it") {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model(kAlike);
        at::Tensor loss = model.parameters[1];
        for (int i = 0; i < 16; ++i) {  // of 60, nobody would live to see the end
            loss = loss.mul(-1).add(loss.mul(2));
        }
        Sizes unused;
        const Memory memory =
            memory_of(comm, [&] { unused = unused_parameters(loss, model.parameters); });
        CHECK(unused == Sizes{0, 2, 3});
        INFO("allocations, where 2^16 ways go through 49 nodes: does it go each of them?");
        CHECK(memory.allocations < 5000);
    });
}

TEST_CASE("unused_parameters goes through a graph that is 200000 operations deep") {
    on_ranks({1}, [](const Communicator&) {
        const Model model(kAlike);
        at::Tensor loss = model.parameters[1];
        for (int i = 0; i < 200'000; ++i) {
            loss = loss.neg();
        }
        const CrashMeans crash("as if a function called itself for each node: the stack is full");
        CHECK(unused_parameters(loss, model.parameters) == Sizes{0, 2, 3});
    });
}

TEST_CASE("with unused_parameters, ranks may take different branches in every step") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const std::size_t n = 6;
        const Model model(Sizes(n, 1));
        Reducer reducer(model.parameters, {8}, all_reduce_hook(comm), comm);
        for (int step = 0; step < 4; ++step) {
            const auto used_on = [&](int r) { return all_but(unused_on((r + step) % p, p, n), n); };
            std::vector<float> expected(n);
            for (int r = 0; r < p; ++r) {
                for (const std::size_t i : used_on(r)) {
                    expected[i] += static_cast<float>(r + 1);
                }
            }
            const std::vector<float> gradients(n, static_cast<float>(p * (comm.rank() + 1)));
            const at::Tensor loss = model.loss(used_on(comm.rank()), gradients);
            INFO("step " << step + 1 << " of 4");
            forget_gradients(model.parameters);
            reducer.prepare_for_backward(unused_parameters(loss, model.parameters));
            loss.backward();
            reducer.finalize_backward();
            CHECK(same(model.each_gradient(), expected, kRounding));
        }
    });
}

TEST_CASE("20 steps with dropout, branches, micro-batches and unequal parts keep ranks equal") {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) {
        std::vector<at::Tensor> layers;  // the second and the third are branches
        for (const std::uint64_t salt : {1, 2, 3, 4}) {
            layers.push_back(filled({4, 4}, 0, salt).mul(0.1).requires_grad_());
        }
        std::vector<at::Tensor> first;
        for (const at::Tensor& layer : layers) {
            first.push_back(layer.detach().clone());
        }
        Reducer reducer(layers, {64}, all_reduce_hook(comm), comm);
        const auto loss_of = [&](int step, int part) {
            const std::int64_t rows = 1 + (step + comm.rank() + part) % 3;
            const std::size_t branch = (step + comm.rank() * part) % 2 == 0 ? 1 : 2;
            const at::Tensor x = filled({rows, 4}, comm.rank(), 10 * step + part);
            const at::Tensor kept = filled({rows, 4}, comm.rank(), 20 * step + part).gt(0);
            const at::Tensor hidden = x.matmul(layers[0]).tanh().mul(kept);
            return hidden.matmul(layers[branch]).tanh().matmul(layers[3]).square().mean();
        };
        for (int step = 0; step < 20; ++step) {
            forget_gradients(layers);
            loss_of(step, 0).backward();  // adds, and sends nothing
            const at::Tensor loss = loss_of(step, 1);
            reducer.prepare_for_backward(unused_parameters(loss, layers));
            loss.backward();
            reducer.finalize_backward();
            const c10::AutoGradMode no_grad(false);
            for (const at::Tensor& layer : layers) {
                layer.sub_(layer.grad(), 0.05);
            }
        }
        for (std::size_t i = 0; i < layers.size(); ++i) {
            CHECK(same_on_all_ranks(elements(layers[i]), comm));
            const bool moved = !layers[i].equal(first[i]);
            CHECK(moved);
        }
    });
}

TEST_CASE("unused_everywhere names what no rank uses, ascending, on every rank") {
    agrees({3, 1, 2, 4, 5});
}

TEST_CASE("unused_everywhere lets ranks take part that use everything") {
    on_ranks({3, 2, 5}, [](const Communicator& comm) {
        const Sizes unused = comm.rank() == comm.size() - 1 ? Sizes{} : kAll;
        const Sizes nowhere = unused_everywhere(unused, 4, comm);
        CHECK(nowhere.empty());
    });
}

TEST_CASE("unused_everywhere costs one ring all-reduce of n floats") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : {7, 0, 1000}) {
            const Sizes unused = unused_on(comm.rank(), p, n);
            const Traffic traffic = record(comm, [&] { unused_everywhere(unused, n, comm); });
            const long messages = 2L * (p - 1);
            const Comparison spent = within(
                traffic, {.messages_sent = at_most(messages),
                          .bytes_sent = at_most(messages * ceil_div(n, p) * 4),
                          .among = neighbours(comm)}
            );
            INFO(counted(n, "parameter"));
            CHECK(spent);
        }
    });
}

TEST_CASE("unused_everywhere refuses numbers that no parameter has, and sends nothing") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const CrashMeans crash("as if a mark was written that no parameter has");
        for (const Sizes& wrong :
             {Sizes{4}, {0, 4}, {1, 2, 1UL << 31U}, {1UL << 32U}, {(1UL << 53U) + 1}}) {
            // on all ranks, and on one alone
            const bool is_wrong_here = wrong.size() == 1 || comm.rank() == comm.size() - 1;
            const Answer refused = answer(comm, [&] {
                if (is_wrong_here) {
                    unused_everywhere(wrong, 4, comm);
                }
            });
            INFO("the numbers " << text_of({wrong}) << ", where there are 4 parameters");
            CHECK(refused.what == (is_wrong_here ? kInvalidArgument : kReturned));
            CHECK(refused.traffic.messages_sent == 0);
        }
        const Answer refused = answer(comm, [&] { unused_everywhere(Sizes{0}, 0, comm); });
        INFO("the number 0, where there are no parameters");
        CHECK(refused.what == kInvalidArgument);
    });
}

TEST_CASE("a message that fails is an error, and the next unused_everywhere is as ever") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        const auto attempt = [&] {
            return answer(comm, [&] { unused_everywhere(kAll, 7, comm); });
        };
        Answer failed;
        {
            const FailingMessages failing;
            failed = attempt();
        }
        const Sizes nowhere = unused_everywhere(Sizes{5}, 7, comm);
        CHECK(failed.what == kError);
        CHECK(nowhere == Sizes{5});
    });
}

TEST_CASE("unused_everywhere is right on 11 ranks", "[many]") {
    agrees({11});
}
