// Backward tells when a parameter's gradient is there, and when all are.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <memory>

namespace dist::nn {

/// Calls a function whenever backward has added to a parameter's gradient; for as long as it lives.
///
/// A parameter that several layers share has one gradient, and one call in a backward pass: after the
/// last of them has added to it. The call comes on the thread that runs backward(); what it throws
/// comes out of backward().
class GradientHook {
  public:
    /// parameter  a leaf that requires a gradient.
    ///
    /// Errors     std::invalid_argument for any other tensor.
    GradientHook(const at::Tensor& parameter, std::function<void()> then);

  private:
    struct Registration;
    std::unique_ptr<Registration, void (*)(Registration*)> registration_;
};

/// Calls a function once, when the backward that is running has done all else. To be called out of a hook.
/// The call comes on the thread that called backward(); what it throws comes out of backward(). Not called
/// where backward itself ends with an error.
///
/// Source  PyTorch, torch/csrc/autograd/engine.h, Engine::queue_callback.
void at_end_of_backward(std::function<void()> then);

}  // namespace dist::nn
