// Backward tells when a parameter's gradient is there.
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

}  // namespace dist::nn
