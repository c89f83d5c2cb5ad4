#include "exercises/08_model_parallel/recompute.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <set>
#include <stdexcept>
#include <utility>

#include <torch/csrc/autograd/autograd.h>

#include "course/nn/autocast_state.hpp"
#include "course/nn/graph.hpp"
#include "course/nn/with_backward.hpp"

namespace dist {

namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor random_state() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock guard(generator.mutex());
    return generator.get_state();
}

/// While it lives, the generator goes on from `state`; then from where it was.
class RandomScope {
  public:
    explicit RandomScope(const at::Tensor& state) : before_(random_state()) { set(state); }
    ~RandomScope() { set(before_); }
    RandomScope(const RandomScope&) = delete;
    RandomScope& operator=(const RandomScope&) = delete;
    RandomScope(RandomScope&&) = delete;
    RandomScope& operator=(RandomScope&&) = delete;

  private:
    static void set(const at::Tensor& state) {
        at::Generator generator = at::detail::getDefaultCPUGenerator();
        const std::scoped_lock guard(generator.mutex());
        generator.set_state(state);
    }

    at::Tensor before_;
};

/// Leaves in their place, so that backward ends at them.
Tensors stand_ins(const Tensors& inputs) {
    Tensors leaves;
    for (const at::Tensor& input : inputs) {
        leaves.push_back(input.detach().set_requires_grad(input.requires_grad()));
    }
    return leaves;
}

/// The leaves that backward from `result` comes to, but for these.
Tensors leaves_of(const at::Tensor& result, const Tensors& known) {
    Tensors leaves;
    std::set<nn::GraphNode> seen;
    std::vector<nn::GraphNode> ahead = {nn::GraphNode(result)};
    while (!ahead.empty()) {
        const nn::GraphNode node = ahead.back();
        ahead.pop_back();
        if (!seen.insert(node).second) {
            continue;
        }
        std::ranges::copy(node.next(), std::back_inserter(ahead));
        const at::Tensor leaf = node.leaf();
        const auto is_leaf = [&](const at::Tensor& tensor) { return tensor.is_same(leaf); };
        if (leaf.defined() && std::ranges::none_of(known, is_leaf)) {
            leaves.push_back(leaf);
        }
    }
    return leaves;
}

/// What the first call began with.
struct Start {
    at::Tensor random = random_state();
    nn::AutocastState autocast = nn::AutocastState::now();
};

at::Tensor again(const Module& module, const Tensors& inputs, const Start& start) {
    const RandomScope random(start.random);
    const nn::AutocastScope autocast(start.autocast);
    const c10::AutoGradMode records(true);
    return module(inputs);
}

/// The gradients of the inputs, then of the leaves that module has read.
Tensors gradients(
    const at::Tensor& gradient,
    const at::Tensor& result,
    const Tensors& inputs,
    const Tensors& leaves
) {
    Tensors wanted;
    std::ranges::copy_if(inputs, std::back_inserter(wanted), &at::Tensor::requires_grad);
    std::ranges::copy(leaves, std::back_inserter(wanted));
    const Tensors found = torch::autograd::grad({result}, wanted, {gradient}, false, false, true);
    Tensors all;
    auto next = found.begin();
    for (const at::Tensor& input : inputs) {
        all.push_back(input.requires_grad() ? *next++ : at::Tensor());
    }
    all.insert(all.end(), next, found.end());
    return all;
}

}  // namespace

at::Tensor recompute(const Module& module, const std::vector<at::Tensor>& inputs) {
    const Start start;
    const Tensors first = stand_ins(inputs);
    const at::Tensor result = [&] {
        const nn::AutocastScope autocast(start.autocast);
        return module(first);
    }();
    if (!result.requires_grad()) {
        return result;
    }
    Tensors sources = inputs;
    std::ranges::copy(leaves_of(result, first), std::back_inserter(sources));
    const auto n = static_cast<std::ptrdiff_t>(inputs.size());
    return nn::with_backward(result, sources, [=](const at::Tensor& gradient, const Tensors& kept) {
        if (c10::GradMode::is_enabled()) {
            throw std::logic_error("recompute: it cannot be differentiated again");
        }
        const Tensors second = stand_ins({kept.begin(), kept.begin() + n});
        const Tensors leaves(kept.begin() + n, kept.end());
        return gradients(gradient, again(module, second, start), second, leaves);
    });
}

}  // namespace dist
