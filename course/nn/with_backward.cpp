#include "course/nn/with_backward.hpp"

#include <c10/util/intrusive_ptr.h>
#include <memory>
#include <type_traits>
#include <utility>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

namespace dist::nn {

namespace {

struct OwnNode : torch::autograd::Node {
    OwnNode(const std::vector<at::Tensor>& inputs, Backward backward)
        : Node(torch::autograd::collect_next_edges(inputs)), backward_(std::move(backward)) {
        for (const at::Tensor& input : inputs) {
            inputs_.emplace_back(input, /*is_output=*/false);
        }
    }

    std::vector<at::Tensor> apply(std::vector<at::Tensor>&& gradients) override {
        std::vector<at::Tensor> inputs;
        for (const auto& input : inputs_) {
            inputs.push_back(input.unpack());  // throws if it was changed, or released
        }
        return gradients[0].defined() ? backward_(gradients[0], inputs)
                                      : std::vector<at::Tensor>(inputs.size());
    }

    void release_variables() override {
        for (auto& input : inputs_) {
            input.reset_data();
        }
        backward_ = nullptr;
    }

    std::vector<torch::autograd::SavedVariable> inputs_;
    Backward backward_;
};

/// LibTorch's pointer to a node: shared, or in newer versions intrusive.
template <class Pointer, class Made, class... Arguments>
Pointer make_node(Arguments&&... arguments) {
    if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
        return std::make_shared<Made>(std::forward<Arguments>(arguments)...);
    } else {
        return c10::make_intrusive<Made>(std::forward<Arguments>(arguments)...);
    }
}

}  // namespace

at::Tensor with_backward(
    const at::Tensor& result, const std::vector<at::Tensor>& inputs, Backward backward
) {
    using Pointer = decltype(torch::autograd::Edge::function);
    at::Tensor known = result.detach();
    torch::autograd::create_gradient_edge(
        known, make_node<Pointer, OwnNode>(inputs, std::move(backward))
    );
    return known;
}

}  // namespace dist::nn
