// Parts of models that are called by recompute, and beside it plainly.
#pragma once

#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/recompute.hpp"
#include "tests/08_model_parallel/seed_generator.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

using Tensors = std::vector<at::Tensor>;

/// Calls a module: recompute, or plain().
using Call = std::function<at::Tensor(const Module& module, const Tensors& inputs)>;

inline at::Tensor plain(const Module& module, const Tensors& inputs) {
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
inline at::Tensor loss_of(const at::Tensor& y) {
    return y.mul(y.detach().add(3)).sum();
}

/// Does a body find the same, to the bit, when modules are called by recompute as when they are called plainly?
/// Before both the generator is where the seed takes it.
///
/// body  returns what it finds: values, gradients, random numbers.
inline Comparison as_plain(const std::function<Tensors(const Call& call)>& body) {
    const auto found = [&](const Call& call) {
        seed_generator(seed());
        return body(call);
    };
    const Tensors expected = found(plain);
    const Tensors got = found(recompute);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Comparison one = identical(got[i], expected[i]);
        if (!one) {
            return {false, "tensor " + std::to_string(i) + ": " + one.text};
        }
    }
    return {};
}

/// "none", or the type of what backward throws.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const c10::Error&) {
        return "c10::Error";
    } catch (const std::logic_error&) {
        return "std::logic_error";
    }
    return "none";
}

}  // namespace dist::harness
