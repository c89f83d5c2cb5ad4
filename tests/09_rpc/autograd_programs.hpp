// Programs whose parts run on several ranks, and the gradients that they have in one process.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "exercises/09_rpc/dist_autograd.hpp"
#include "tests/09_rpc/autograd_network.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Tensors = DistAutograd::Tensors;
using CallFunction =
    std::function<Tensors(int to, const std::string& name, const Tensors& arguments)>;

/// What ranks hold and compute. Whole numbers, small enough to be exact.
struct Program {
    std::string name;
    std::vector<Tensors> leaves;  // by rank
    std::
        map<std::string, std::function<Tensors(int rank, const CallFunction& call, const Tensors&)>>
            functions = {};
    std::function<Tensors(const CallFunction& call)> roots = {};  // on rank 0
};

/// By rank and leaf; undefined where the roots do not lead.
inline std::vector<Tensors> plain_gradients(const Program& program) {
    CallFunction call;
    call = [&](int to, const std::string& name, const Tensors& arguments) {
        return program.functions.at(name)(to, call, arguments);
    };
    const Tensors roots = program.roots(call);
    std::vector<Tensors> gradients;
    for (const Tensors& leaves : program.leaves) {
        gradients.push_back(
            leaves.empty() ? Tensors() : torch::autograd::grad(roots, leaves, {}, true, false, true)
        );
    }
    return gradients;
}

/// Ranks with a DistAutograd each.
class AutogradWorld : public CallWorld {
  public:
    explicit AutogradWorld(int p, std::uint64_t seed = 1) : CallWorld(p, seed) {
        for (int rank = 0; rank < p; ++rank) {
            autograds_.push_back(std::make_unique<DistAutograd>(rpc(rank)));
        }
    }

    [[nodiscard]] DistAutograd& on(int rank) {
        return *autograds_.at(static_cast<std::size_t>(rank));
    }

    [[nodiscard]] CallFunction call_of(int rank) {
        return [this, rank](int to, const std::string& name, const Tensors& arguments) {
            return on(rank).call(to, name, arguments);
        };
    }

    /// Every rank has all functions.
    void define(const Program& program) {
        for (int rank = 0; rank < size(); ++rank) {
            for (const auto& [name, function] : program.functions) {
                on(rank).define(name, [this, rank, function](const Tensors& arguments) {
                    return function(rank, call_of(rank), arguments);
                });
            }
        }
    }

    /// Whether no rank has a context.
    [[nodiscard]] Comparison is_clean() {
        for (int rank = 0; rank < size(); ++rank) {
            if (!network.is_dead(rank) && !on(rank).contexts().empty()) {
                return {false, "rank " + std::to_string(rank) + " still has a context"};
            }
        }
        return {};
    }

  private:
    std::vector<std::unique_ptr<DistAutograd>> autograds_;
};

inline std::string text_of(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        return "none";
    }
    std::string text = std::string(c10::toString(tensor.scalar_type())) + " [";
    for (const float x : elements(tensor.to(at::kFloat))) {
        text += (text.back() == '[' ? "" : ", ") + std::to_string(static_cast<long>(x));
    }
    return text + "]";
}

/// Whether the context's gradients on this rank are `times` those that are expected, and no others.
inline Comparison has_gradients(
    const Gradients& gradients, const Tensors& leaves, const Tensors& expected, int times = 1
) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const auto found = gradients.find(leaves[i]);
        const at::Tensor got = found == gradients.end() ? at::Tensor() : found->second;
        const at::Tensor wanted = expected[i].defined() ? expected[i].mul(times) : at::Tensor();
        count += wanted.defined() ? 1 : 0;
        if (text_of(got) != text_of(wanted)) {
            return {
                false, "the gradient of leaf " + std::to_string(i) + " is " + text_of(got) +
                           ", in one process it is " + text_of(wanted)};
        }
        if (leaves[i].grad().defined()) {
            return {
                false, "leaf " + std::to_string(i) + " has a .grad(): it is for the context alone"};
        }
    }
    if (gradients.size() != count) {
        return {false, "there are gradients of tensors that are no leaves of this rank"};
    }
    return {};
}

/// Plays the program: a context, forward, as many passes, and what the ranks have then.
inline Comparison as_in_one_process(const Program& program, std::uint64_t seed, int passes = 1) {
    const std::vector<Tensors> expected = plain_gradients(program);
    AutogradWorld world(static_cast<int>(program.leaves.size()), seed);
    world.define(program);
    ContextId context = 0;
    const Comparison ended = world.run({{0, [&] {
                                             context = world.on(0).new_context();
                                             const Tensors roots = program.roots(world.call_of(0));
                                             for (int pass = 0; pass < passes; ++pass) {
                                                 world.on(0).backward(context, roots);
                                             }
                                         }}});
    if (!ended) {
        return {false, program.name + ": " + ended.text};
    }
    for (int rank = 0; rank < world.size(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const std::vector<ContextId> here = world.on(rank).contexts();
        const Gradients gradients = here.empty() ? Gradients() : world.on(rank).gradients(context);
        const Comparison result = has_gradients(gradients, program.leaves[r], expected[r], passes);
        if (!result) {
            return {false, program.name + ", rank " + std::to_string(rank) + ": " + result.text};
        }
    }
    return {};
}

/// A leaf with these numbers.
inline at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype = at::kFloat) {
    return filled({static_cast<std::int64_t>(values.size())}, values).to(dtype).requires_grad_();
}

}  // namespace dist::harness
