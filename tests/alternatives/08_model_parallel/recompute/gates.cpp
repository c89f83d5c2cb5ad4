// For each input and leaf a gate: an operation that passes its gradient on. The last gate, where backward begins, has
// all gradients computed, and each gives its tensor what it is owed.
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/autocast_state.hpp"
#include "course/nn/graph.hpp"
#include "exercises/08_model_parallel/recompute.hpp"

namespace dist {

namespace {

using Tensors = std::vector<at::Tensor>;
using torch::autograd::AutogradContext;

struct Segment : torch::CustomClassHolder {
    Module module;
    std::size_t inputs = 0;
    at::Tensor random;
    nn::AutocastState autocast = nn::AutocastState::now();
    Tensors gradients;  // while backward goes through the gates
};

at::Tensor called(const Module& module, const Tensors& inputs, const nn::AutocastState& autocast) {
    const nn::AutocastScope scope(autocast);
    return module(inputs);
}

Tensors detached(const Tensors& all, std::size_t n) {
    Tensors inputs;
    for (std::size_t i = 0; i < n; ++i) {
        inputs.push_back(all[i].detach().requires_grad_(all[i].requires_grad()));
    }
    return inputs;
}

at::Tensor called_again(const Segment& segment, const Tensors& inputs) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const auto now = [&] {
        const std::scoped_lock guard(generator.mutex());
        return generator.get_state();
    };
    const auto set = [&](const at::Tensor& state) {
        const std::scoped_lock guard(generator.mutex());
        generator.set_state(state);
    };
    const at::Tensor before = now();
    set(segment.random);
    try {
        const at::AutoGradMode records(true);
        at::Tensor result = called(segment.module, inputs, segment.autocast);
        set(before);
        return result;
    } catch (...) {
        set(before);
        throw;
    }
}

void compute(Segment& segment, const at::Tensor& gradient, const Tensors& sources) {
    if (at::GradMode::is_enabled()) {
        throw std::logic_error("recompute: backward with create_graph");
    }
    Tensors places = detached(sources, segment.inputs);
    const at::Tensor result = called_again(segment, places);
    places.insert(places.end(), sources.begin() + std::ssize(places), sources.end());
    Tensors wanted;
    for (const at::Tensor& place : places) {
        if (place.requires_grad()) {
            wanted.push_back(place);
        }
    }
    const Tensors found = torch::autograd::grad({result}, wanted, {gradient}, {}, false, true);
    segment.gradients.assign(places.size(), {});
    for (std::size_t i = 0, k = 0; i < places.size(); ++i) {
        if (places[i].requires_grad()) {
            segment.gradients[i] = found[k++];
        }
    }
}

struct Gate : torch::autograd::Function<Gate> {
    static at::Tensor forward(
        AutogradContext* context,
        const at::Tensor& value,
        const at::Tensor& /*source*/,
        const c10::intrusive_ptr<Segment>& segment,
        std::int64_t number,
        const std::vector<at::Tensor>* sources
    ) {
        context->saved_data["segment"] = c10::IValue::make_capsule(segment);
        context->saved_data["number"] = number;
        context->saved_data["last"] = sources != nullptr;
        if (sources != nullptr) {
            context->save_for_backward(*sources);
        }
        return value;
    }

    static Tensors backward(AutogradContext* context, Tensors gradients) {
        const auto capsule = context->saved_data["segment"].toCapsule();
        auto& segment = static_cast<Segment&>(*capsule);
        if (context->saved_data["last"].toBool()) {
            compute(segment, gradients[0], context->get_saved_variables());
        }
        const auto number = static_cast<std::size_t>(context->saved_data["number"].toInt());
        at::Tensor own = std::exchange(segment.gradients[number], {});
        return {gradients[0], std::move(own), {}, {}, {}};
    }
};

}  // namespace

at::Tensor recompute(const Module& module, const std::vector<at::Tensor>& inputs) {
    const auto segment = c10::make_intrusive<Segment>();
    segment->module = module;
    segment->inputs = inputs.size();
    segment->random = at::detail::getDefaultCPUGenerator().get_state();
    const Tensors first = detached(inputs, inputs.size());
    at::Tensor result = called(module, first, segment->autocast);
    if (!result.requires_grad()) {
        return result;
    }
    Tensors sources = inputs;
    std::map<nn::GraphNode, bool> seen;
    const std::function<void(const nn::GraphNode&)> visit = [&](const nn::GraphNode& node) {
        if (!seen.emplace(node, true).second) {
            return;
        }
        bool is_new = node.leaf().defined();
        for (const at::Tensor& input : first) {
            is_new = is_new && !input.is_same(node.leaf());
        }
        if (is_new) {
            sources.push_back(node.leaf());
        }
        for (const nn::GraphNode& next : node.next()) {
            visit(next);
        }
    };
    visit(nn::GraphNode(result));
    seen.clear();
    result = result.detach();
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const bool is_last = i + 1 == sources.size();
        const auto number = static_cast<std::int64_t>(i);
        result = Gate::apply(result, sources[i], segment, number, is_last ? &sources : nullptr);
    }
    return result;
}

}  // namespace dist
