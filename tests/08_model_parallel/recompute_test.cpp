// What recompute must do: give what the module gives, to the bit, and hold nothing of it until backward.
#include "exercises/08_model_parallel/recompute.hpp"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "course/nn/autocast_state.hpp"
#include "course/nn/gradient_hook.hpp"
#include "course/parallel/autocast.hpp"
#include "exercises/07_zero/zero3.hpp"
#include "tests/08_model_parallel/seed_generator.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/calls.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Tensors = std::vector<at::Tensor>;

/// Calls a module: recompute, or plain().
using Call = std::function<at::Tensor(const Module& module, const Tensors& inputs)>;

at::Tensor plain(const Module& module, const Tensors& inputs) {
    return module(inputs);
}

/// A linear layer, relu, and dropout.
struct Block {
    explicit Block(std::uint64_t salt)
        : weights(filled({6, 6}, 0, salt).div(16).requires_grad_()),
          bias(filled({6}, 0, salt + 1).div(16).requires_grad_()) {}

    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const {
        const at::Tensor y = at::linear(x, weights, bias).to(at::kFloat);  // autocast's is bfloat16
        return at::dropout(y.relu(), 0.5, /*train=*/true);
    }

    at::Tensor weights;
    at::Tensor bias;
};

/// Blocks, one behind the other, each called by `call`.
struct Chain {
    std::vector<Block> blocks = {Block(1), Block(3), Block(5)};
    at::Tensor x = filled({4, 6}, 0, 7).div(16).requires_grad_();

    [[nodiscard]] at::Tensor forward(const Call& call) const {
        at::Tensor h = x;
        for (const Block& block : blocks) {
            h = call([&block](const Tensors& inputs) { return block.forward(inputs[0]); }, {h});
        }
        return h;
    }

    [[nodiscard]] Tensors gradients() const {
        Tensors all = {x.grad()};
        for (const Block& block : blocks) {
            all.insert(all.end(), {block.weights.grad(), block.bias.grad()});
        }
        return all;
    }
};

/// A loss whose gradient differs in each element.
at::Tensor loss_of(const at::Tensor& y) {
    return y.mul(y.detach().add(3)).sum();
}

/// Runs a body on one rank: recompute sends nothing.
void alone(const std::function<void()>& body) {
    on_ranks({1}, [&](const Communicator&) { body(); });
}

/// Returns what it finds: values, gradients, random numbers.
using Body = std::function<Tensors(const Call& call)>;

/// Does a body find the same, to the bit, when modules are called by recompute as when they are called plainly?
/// Before both the generator is where the seed takes it.
Comparison as_plain(const Body& body) {
    Tensors expected;
    Tensors got;
    alone([&] {
        seed_generator(seed());
        expected = body(plain);
        seed_generator(seed());
        got = body(recompute);
    });
    for (std::size_t i = 0; i < got.size(); ++i) {  // none where recompute threw: that is told
        const Comparison one = identical(got[i], expected[i]);
        if (!one) {
            return {false, "tensor " + std::to_string(i) + ": " + one.text};
        }
    }
    return {};
}

}  // namespace

TEST_CASE("values, gradients and random numbers are those of the module, to the bit") {
    const Body body = [](const Call& call) {
        const Chain chain;
        const at::Tensor first = chain.forward(call);
        const at::Tensor second = chain.forward(call);
        const at::Tensor between = at::rand({3});
        loss_of(first).backward();
        loss_of(second).backward();
        Tensors all = {first, second, between, at::rand({3})};
        std::ranges::copy(chain.gradients(), std::back_inserter(all));
        return all;
    };
    INFO("two calls, of which the first goes back first. Tensors 0 and 1: the outputs;");
    INFO("2 and 3: random numbers between forward and backward, and after it; then gradients of x,"
    );
    INFO("and of weights and bias of each of three blocks with dropout");
    CHECK(as_plain(body));
}

TEST_CASE("leaves that module reads get their gradients, also where no input requires one") {
    const Body body = [](const Call& call) {
        const at::Tensor table = filled({5, 3}, 0, 1).requires_grad_();
        const at::Tensor other = filled({3}, 0, 2).requires_grad_();
        const Module look_up = [&](const Tensors& inputs) {
            return table.index_select(0, inputs[0]).mul(other).add(other);
        };
        const at::Tensor numbers = at::arange(4, at::kLong).remainder(3);
        loss_of(call(look_up, {numbers})).backward();
        return Tensors{table.grad(), other.grad()};
    };
    CHECK(as_plain(body));
}

TEST_CASE("several inputs: one depends on another, one is given twice, one requires no gradient") {
    const Body body = [](const Call& call) {
        const at::Tensor x = filled({6}, 0, 1).requires_grad_();
        const at::Tensor h = x.mul(x);
        const at::Tensor mask = filled({6}, 0, 2);
        const Module module = [&](const Tensors& in) {
            return in[0].mul(in[1]).add(in[2].mul(in[3])).mul(x);
        };
        const at::Tensor y = call(module, {x, h, x, mask});
        loss_of(y.add(h)).backward();
        return Tensors{x.grad(), y, mask.grad()};
    };
    INFO("gradients of x; the output; the input that requires no gradient has none");
    CHECK(as_plain(body));
}

TEST_CASE("module may return its input, a view of it, or a leaf") {
    const at::Tensor leaf = at::ones({4}).requires_grad_();
    const std::pair<const char*, Module> modules[] = {
        {"its input", [](const Tensors& in) { return in[0]; }},
        {"a view of it", [](const Tensors& in) { return in[0].unsqueeze(0); }},
        {"a leaf", [&](const Tensors&) { return leaf; }}};
    for (const auto& one : modules) {
        const Body body = [&](const Call& call) {
            leaf.mutable_grad().reset();
            const at::Tensor x = filled({4}, 0, 1).requires_grad_();
            const at::Tensor y = call(one.second, {x.mul(2)});
            loss_of(y).backward();
            return Tensors{y, x.grad(), leaf.grad()};
        };
        INFO("module returns " << one.first);
        CHECK(as_plain(body));
    }
}

TEST_CASE("module is called once in forward and once in each backward, and not where none will come"
) {
    alone([] {
        Calls calls;
        const at::Tensor x = filled({4}, 0, 1).requires_grad_();
        const Module module = [&](const Tensors& in) {
            calls.note("module");
            return in[0].tanh();
        };
        const auto backward = [&](const at::Tensor& y, bool retain) {
            calls.note("backward");
            y.sum().backward({}, retain);
        };
        const at::Tensor y = recompute(module, {x});
        backward(y, true);
        const at::Tensor once = x.grad().clone();
        backward(y, false);
        CHECK(identical(x.grad(), once.mul(2)));
        CHECK(calls.are({"module", "backward", "module", "backward", "module"}));
        calls.forget();
        CHECK_FALSE(recompute(module, {x.detach()}).requires_grad());
        {
            const c10::AutoGradMode off(false);
            CHECK_FALSE(recompute(module, {x}).requires_grad());
        }
        INFO("nothing requires a gradient, or autograd is off: a call each");
        CHECK(calls.are({"module", "module"}));
    });
}

TEST_CASE("recompute may stand in recompute") {
    const Body body = [](const Call& call) {
        const Block inner(1);
        const Block outer(3);
        const at::Tensor x = filled({4, 6}, 0, 7).div(16).requires_grad_();
        const Module in = [&](const Tensors& inputs) { return inner.forward(inputs[0]); };
        const Module out = [&](const Tensors& inputs) {
            return outer.forward(call(in, {inputs[0].mul(2)}));
        };
        const at::Tensor y = call(out, {x});
        loss_of(y).backward();
        return Tensors{y, x.grad(), inner.weights.grad(), outer.weights.grad(), at::rand({3})};
    };
    CHECK(as_plain(body));
}

TEST_CASE("autocast is in backward what it was in forward, whatever it is around them") {
    for (const bool in_forward : {true, false}) {
        const bool in_backward = !in_forward;
        const Body body = [=](const Call& call) {
            const Chain chain;
            at::Tensor loss;
            {
                const nn::AutocastScope scope({in_forward, at::kBFloat16});
                loss = loss_of(chain.forward(call));
            }
            const nn::AutocastScope scope({in_backward, at::kBFloat16});
            loss.backward();
            CHECK(nn::AutocastState::now().enabled == in_backward);
            return chain.gradients();
        };
        INFO("autocast in forward: " << in_forward << ", around backward: " << in_backward);
        CHECK(as_plain(body));
    }
}

TEST_CASE("hooks of a parameter are called once in a backward, when all of its gradient is there") {
    alone([] {
        const Block block(1);
        const Module module = [&](const Tensors& in) { return block.forward(in[0]); };
        Calls calls;
        const nn::GradientHook hook(block.weights, [&] {
            calls.note("weights");
            nn::at_end_of_backward([&] { calls.note("end"); });
        });
        const at::Tensor x = filled({4, 6}, 0, 7).requires_grad_();
        const nn::GradientHook last(x, [&] { calls.note("x"); });
        const at::Tensor h = recompute(module, {x});
        recompute(module, {h}).sum().backward();
        INFO("a parameter of two blocks, and x; then backward has ended");
        const std::vector<std::string> either =
            calls.all().front() == "x" ? std::vector<std::string>{"x", "weights", "end"}
                                       : std::vector<std::string>{"weights", "x", "end"};
        CHECK(calls.are(either));
    });
}

TEST_CASE("autograd::grad gets the gradients of leaves and inputs, and leaves .grad alone") {
    const Body body = [](const Call& call) {
        const Chain chain;
        Tensors wanted = {chain.x, chain.blocks[1].weights};
        Tensors found = torch::autograd::grad(
            {loss_of(chain.forward(call))}, wanted, {}, {}, false, /*allow_unused=*/true
        );
        for (const at::Tensor& untouched : chain.gradients()) {
            CHECK_FALSE(untouched.defined());
        }
        return found;
    };
    CHECK(as_plain(body));
}

TEST_CASE("what module throws comes out, in forward and in backward, and leaves all as it was") {
    alone([] {
        const at::Tensor x = filled({4}, 0, 1).requires_grad_();
        const Settings settings({x});
        const nn::AutocastScope around({true, at::kBFloat16});
        std::uint64_t seed_before = 0;
        const auto seed_by = [&](std::uint64_t number) {
            seed_before = number;
            seed_generator(number);
        };
        const auto call = [&](const Bomb& bomb) {
            const Module module = [&](const Tensors& in) {
                bomb();
                return at::dropout(in[0].tanh(), 0.5, true);
            };
            at::Tensor y;
            {
                const nn::AutocastScope off({false, at::kBFloat16});
                seed_by(7);
                y = recompute(module, {x});
            }
            seed_by(8);
            y.sum().backward();
        };
        everything_throws(2, call, [&]() -> Comparison {
            const at::Tensor drawn = at::rand({3});
            seed_generator(seed_before);
            if (!identical(drawn, at::rand({3}))) {
                return {false, "random numbers are not as if nothing had been"};
            }
            if (!nn::AutocastState::now().enabled) {
                return {false, "autocast is left off"};
            }
            const Comparison left = settings.unchanged();
            if (!left) {
                return left;
            }
            x.mutable_grad().reset();
            recompute([](const Tensors& in) { return in[0].tanh(); }, {x}).sum().backward();
            return same(elements(x.grad()), elements(x.tanh().square().neg().add(1)), 1e-5);
        });
    });
}

TEST_CASE("what cannot be computed again as it was is refused out of backward") {
    alone([] {
        const at::Tensor x = filled({4}, 0, 1).requires_grad_();
        const at::Tensor w = filled({4}, 0, 2).requires_grad_();
        const at::Tensor h = x.mul(1);
        const Module module = [&](const Tensors& in) { return in[0].add(w).tanh(); };
        const auto change = [](const at::Tensor& tensor) {
            const c10::AutoGradMode off(false);
            tensor.add_(1);
        };
        const auto refused = [&](const char* what,
                                 const std::function<void(const at::Tensor& y)>& spoil) {
            const at::Tensor y = recompute(module, {h}).sum();
            spoil(y);
            INFO(what);
            CHECK(throws_error<c10::Error>([&] { y.backward(); }));
        };
        {
            INFO("create_graph: its derivative is to be differentiated again");
            const at::Tensor y = recompute(module, {h}).sum();
            CHECK(throws_error<std::logic_error>([&] { y.backward({}, true, true); }));
        }
        refused("an input was changed in place", [&](const at::Tensor&) { change(h); });
        refused("a leaf was changed in place", [&](const at::Tensor&) { change(w); });
        refused(
            "backward once more, and the first one did not retain the graph",
            [](const at::Tensor& y) { y.backward(); }
        );
    });
}

TEST_CASE(
    "between forward and backward the inputs are held, to the byte, and one segment in backward"
) {
    alone([] {
        constexpr std::size_t kSegments = 4;  // of four layers each
        constexpr std::size_t kActivation = std::size_t{4} * 50'000;
        constexpr std::size_t kStates = kSegments * 6'000;  // the generator's, and descriptions
        const MemoryBefore before;
        const at::Tensor x = at::ones({50'000}).requires_grad_();
        const Module module = [](const Tensors& in) {
            return in[0].tanh().tanh().tanh().tanh();  // each keeps its result for backward
        };
        at::Tensor y = x;
        for (std::size_t i = 0; i < kSegments; ++i) {
            y = recompute(module, {y});
        }
        {
            INFO("x, and the result of each segment, of " << kActivation << " bytes each");
            const std::size_t held = before.tensors_since();
            const std::size_t least = (kSegments + 1) * kActivation;
            CHECK(held >= least);
            CHECK(held <= least + kStates);
            CHECK(before.nothing_beside());
        }
        const at::Tensor gradient = at::ones({50'000});
        forget_peak();
        y.backward(gradient);
        const std::size_t peak = before.peak_since();
        y.reset();
        {
            INFO("afterwards: x, its gradient, and the gradient given");
            CHECK(same_bytes(before.tensors_since(), 3 * kActivation));
        }
        INFO("in backward: " << peak / kActivation << " activations");
        // x, results, the gradient given; a segment's layers; gradients behind and before a layer
        CHECK(peak <= (kSegments + 2 + 4 + 2) * kActivation + kStates);
    });
}

TEST_CASE("autocast keeps no narrow copy of an input until it ends") {
    alone([] {
        constexpr std::size_t kSegments = 4;
        constexpr std::size_t kActivation = std::size_t{4} * 256 * 64;
        constexpr std::size_t kNarrowWeights = std::size_t{2} * 64 * 64;
        // oneDNN cannot multiply in bfloat16 on each processor that LibTorch takes for one that can
        at::globalContext().setUserEnabledMkldnn(false);
        const at::Tensor w = at::ones({64, 64}).requires_grad_();
        const Module module = [&](const Tensors& in) {
            return at::linear(in[0], w).to(at::kFloat).div(64);
        };
        at::Tensor y = at::ones({256, 64}).requires_grad_();
        const MemoryBefore before;
        const trainer::Autocast on(true, at::kCPU);
        for (std::size_t i = 0; i < kSegments; ++i) {
            y = recompute(module, {y});
        }
        INFO("the results of " << kSegments << " segments, of " << kActivation << " bytes each");
        CHECK(before.tensors_since() <= kSegments * (kActivation + 6'000) + kNarrowWeights);
    });
}

TEST_CASE("zero3 trains with recompute as without, for the same messages") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        Tensors shards[2];
        Traffic traffic[2];
        for (const bool again : {false, true}) {
            const Call call = again ? Call(recompute) : plain;
            seed_generator(5);
            const Chain chain;
            std::vector<FsdpUnit> units;
            for (const Block& block : chain.blocks) {
                units.push_back({{block.weights, block.bias}});
            }
            Zero3 zero(units, nn::OptimizerOptions{}, comm);
            traffic[again] = record(comm, [&] {
                for (int step = 0; step < 2; ++step) {
                    zero.zero_grad();
                    at::Tensor h = filled({4, 6}, comm.rank(), 20).div(16);
                    for (std::size_t i = 0; i < units.size(); ++i) {
                        const Module module = [&, i](const Tensors& in) {
                            return chain.blocks[i].forward(in[0]);
                        };
                        h = zero.forward(i, [&] { return call(module, {h}); });
                    }
                    loss_of(h).backward();
                    zero.step();
                }
            });
            for (const at::Tensor& shard : zero.optimizer().parameters()) {
                shards[again].push_back(shard.clone());
            }
        }
        INFO("two steps; each rank's shards");
        for (std::size_t i = 0; i < shards[0].size(); ++i) {
            CHECK(identical(shards[1].at(i), shards[0][i]));
        }
        CHECK(traffic[1].messages_sent == traffic[0].messages_sent);
        CHECK(traffic[1].bytes_sent == traffic[0].bytes_sent);
    });
}
