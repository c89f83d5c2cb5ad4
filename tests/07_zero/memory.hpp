// What a rank holds in a step of training: bytes by what they are for, held against memory_model, and drawn.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "exercises/07_zero/memory_model.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/memory.hpp"

namespace dist::harness {

/// Bytes of parameters, gradients and the optimizer's state, each where tensors lead to it, and of all else
/// that tensors asked for. And whether there is much that is no tensor.
struct Held {
    ModelStates states;
    std::size_t rest = 0;
    Comparison beside = {};
};

/// n parameters in rows, added up over the rows.
inline ModelStates sum_of_models(
    const std::vector<std::size_t>& rows,
    const nn::OptimizerOptions& options,
    int p,
    ZeroStage stage
) {
    const auto kind = options.kind == Kind::adamw ? OptimizerKind::adam : OptimizerKind::momentum;
    ModelStates sum;
    for (const std::size_t n : rows) {
        const ModelStates states = memory_model(n, p, stage, Precision::fp32, kind);
        sum.parameters += states.parameters;
        sum.gradients += states.gradients;
        sum.optimizer += states.optimizer;
    }
    return sum;
}

/// What is held now. Memory counts once, for what leads to it first: parameters, gradients, state.
///
/// before   what was held when there were none of them.
/// outputs  bytes of other tensors that are there, rightly.
inline Held held_now(
    const Tensors& parameters,
    const nn::Optimizer& optimizer,
    const MemoryBefore& before,
    std::size_t outputs = 0
) {
    std::set<const void*> seen;
    const auto count_once = [&seen](std::size_t& bytes, const at::Tensor& tensor) {
        if (tensor.defined() && tensor.storage().data() != nullptr &&
            seen.insert(tensor.storage().data()).second) {
            bytes += tensor.storage().nbytes();
        }
    };
    Held held;
    for (const Tensors& all : {parameters, optimizer.parameters()}) {
        for (const at::Tensor& tensor : all) {
            count_once(held.states.parameters, tensor);
        }
    }
    for (const Tensors& all : {parameters, optimizer.parameters()}) {
        for (const at::Tensor& tensor : all) {
            count_once(held.states.gradients, tensor.grad());
        }
    }
    for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
        for (const auto& [name, tensor] : optimizer.state(i)) {
            if (name != "step") {  // is made when it is asked for
                count_once(held.states.optimizer, tensor);
            }
        }
    }
    const std::size_t all = before.tensors_since() - outputs;
    held.rest = all - std::min(all, held.states.total());
    held.beside = before.nothing_beside();
    return held;
}

/// A line for each kind: what is held, as a bar, and what should be.
inline std::string drawn(const Held& held, const ModelStates& expected) {
    struct Bar {
        std::string name;
        std::size_t held;
        std::size_t expected;
    };
    const std::array bars = {
        Bar{"parameters", held.states.parameters, expected.parameters},
        Bar{"gradients ", held.states.gradients, expected.gradients},
        Bar{"optimizer ", held.states.optimizer, expected.optimizer},
        Bar{"all else  ", held.rest, 0}};
    std::size_t most = 1;
    for (const Bar& bar : bars) {
        most = std::max({most, bar.held, bar.expected});
    }
    constexpr std::size_t kWidth = 30;
    std::string text = "what is held (█), and what more than it should be (▒):";
    for (const Bar& bar : bars) {
        text += "\n  " + bar.name + "  ";
        const auto cells = [&](std::size_t bytes) { return (bytes * kWidth + most - 1) / most; };
        for (std::size_t i = 0; i < kWidth; ++i) {
            text += i >= cells(bar.held) ? " " : i < cells(bar.expected) ? "█" : "▒";
        }
        text += "  " + std::to_string(bar.held);
        text += bar.held == bar.expected ? "" : ", expected " + std::to_string(bar.expected);
    }
    return text;
}

/// What is likely to be held too much of each kind.
struct TooMany {
    std::vector<ByteSuspicion> parameters = {};
    std::vector<ByteSuspicion> gradients = {};
    std::vector<ByteSuspicion> optimizer = {};
    std::vector<ByteSuspicion> rest = {};
};

/// Is it what the model says, to the byte? If not, of which kind there are too many, and what these are likely
/// to be.
inline Comparison same_states(
    const Held& held, const ModelStates& expected, const TooMany& too_many
) {
    if (held.states.total() + held.rest == expected.total()) {
        return {};  // parameters and gradients may share a row
    }
    const auto of = [](const char* kind, std::size_t got, std::size_t right,
                       const std::vector<ByteSuspicion>& suspicions) {
        Comparison result = same_bytes(got, right, {}, suspicions);
        result.text = std::string(kind) + ": " + result.text;
        return result;
    };
    for (const Comparison& kind :
         {of("parameters", held.states.parameters, expected.parameters, too_many.parameters),
          of("gradients", held.states.gradients, expected.gradients, too_many.gradients),
          of("optimizer", held.states.optimizer, expected.optimizer, too_many.optimizer),
          of("what no parameter, gradient or state leads to", held.rest, 0, too_many.rest)}) {
        if (!kind) {
            return kind;
        }
    }
    return {};
}

/// Checks that, at a moment of the step that is named.
inline void check_memory(
    const std::string& moment,
    const Held& held,
    const ModelStates& expected,
    const TooMany& too_many = {}
) {
    INFO(moment);
    INFO(drawn(held, expected));
    CHECK(same_states(held, expected, too_many));
    CHECK(held.beside);
}

}  // namespace dist::harness
