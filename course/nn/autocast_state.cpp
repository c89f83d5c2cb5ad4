#include "course/nn/autocast_state.hpp"

#include <ATen/autocast_mode.h>

#include <torch/version.h>

namespace dist::nn {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
void set_autocast(c10::DeviceType device, const AutocastState& state) {
    at::autocast::set_autocast_enabled(device, state.enabled);
    at::autocast::set_autocast_dtype(device, state.dtype);
}
AutocastState AutocastState::now() {
    return {
        at::autocast::is_autocast_enabled(at::kCPU), at::autocast::get_autocast_dtype(at::kCPU)};
}
#else
void set_autocast(c10::DeviceType device, const AutocastState& state) {
    if (device == at::kCPU) {
        at::autocast::set_cpu_enabled(state.enabled);
        at::autocast::set_autocast_cpu_dtype(state.dtype);
    } else {
        at::autocast::set_enabled(state.enabled);
        at::autocast::set_autocast_gpu_dtype(state.dtype);
    }
}
AutocastState AutocastState::now() {
    return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
}
#endif

AutocastScope::AutocastScope(const AutocastState& state)
    : before_(AutocastState::now()), remembers_(at::autocast::is_autocast_cache_enabled()) {
    set_autocast(at::kCPU, state);
    at::autocast::set_autocast_cache_enabled(false);
}

AutocastScope::~AutocastScope() {
    set_autocast(at::kCPU, before_);
    at::autocast::set_autocast_cache_enabled(remembers_);
}

}  // namespace dist::nn
