// Whether LibTorch's autocast is on, to be noted and brought back.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace dist::nn {

/// Whether convolutions and matrix products on the host compute in a narrower dtype, on this thread.
struct AutocastState {
    bool enabled = false;
    c10::ScalarType dtype = c10::ScalarType::BFloat16;

    /// As it is now.
    static AutocastState now();

    bool operator==(const AutocastState&) const = default;
};

/// Sets autocast of a kind of device, CPU or CUDA, on this thread; in every version of LibTorch from 1.13 on.
void set_autocast(c10::DeviceType device, const AutocastState& state);

/// While it lives, autocast is as in `state`, and remembers no cast: else it would keep the narrow copy of each
/// leaf until it is off. Then all is as before.
class AutocastScope {
  public:
    explicit AutocastScope(const AutocastState& state);
    ~AutocastScope();
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;
    AutocastScope(AutocastScope&&) = delete;
    AutocastScope& operator=(AutocastScope&&) = delete;

  private:
    AutocastState before_;
    bool remembers_;
};

}  // namespace dist::nn
