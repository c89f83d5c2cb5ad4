#include "course/nn/gradient_hook.hpp"

#include <c10/core/GradMode.h>
#include <cstdint>
#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "course/runtime/error.hpp"

namespace dist::nn {

namespace {

using torch::autograd::variable_list;

/// What LibTorch calls after a node of the graph has done its work.
struct AfterNode : torch::autograd::FunctionPostHook {
    explicit AfterNode(std::function<void()> then) : then_(std::move(then)) {}

    variable_list operator()(const variable_list& outputs, const variable_list&) override {
        then_();
        return outputs;
    }

    std::function<void()> then_;
};

}  // namespace

struct GradientHook::Registration {
    // The node that adds to the gradient: the tensor does not keep it alive, this does. A shared
    // pointer, or in newer versions an intrusive one.
    decltype(torch::autograd::impl::grad_accumulator(std::declval<at::Tensor>())) node;
    std::uintptr_t key;
};

GradientHook::GradientHook(const at::Tensor& parameter, std::function<void()> then)
    : registration_(nullptr, [](Registration* registration) {
          if (registration != nullptr) {
              registration->node->del_post_hook(registration->key);
              delete registration;
          }
      }) {
    expects(
        parameter.is_leaf() && parameter.requires_grad(),
        "GradientHook: the parameter must be a leaf that requires a gradient"
    );
    auto node = torch::autograd::impl::grad_accumulator(parameter);
    const auto key = node->add_post_hook(std::make_unique<AfterNode>(std::move(then)));
    registration_.reset(new Registration{std::move(node), key});
}

void at_end_of_backward(std::function<void()> then) {
    torch::autograd::Engine::get_default_engine().queue_callback(std::move(then));
}

}  // namespace dist::nn
