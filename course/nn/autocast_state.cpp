#include "course/nn/autocast_state.hpp"

#include <ATen/autocast_mode.h>

#include <torch/version.h>

namespace dist::nn {

namespace {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
void set_autocast(const AutocastState& state) {
    at::autocast::set_autocast_enabled(at::kCPU, state.enabled);
    at::autocast::set_autocast_dtype(at::kCPU, state.dtype);
}
AutocastState state_now() {
    return {
        at::autocast::is_autocast_enabled(at::kCPU), at::autocast::get_autocast_dtype(at::kCPU)};
}
#else
void set_autocast(const AutocastState& state) {
    at::autocast::set_cpu_enabled(state.enabled);
    at::autocast::set_autocast_cpu_dtype(state.dtype);
}
AutocastState state_now() {
    return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
}
#endif

}  // namespace

AutocastState AutocastState::now() {
    return state_now();
}

AutocastScope::AutocastScope(const AutocastState& state)
    : before_(state_now()), remembers_(at::autocast::is_autocast_cache_enabled()) {
    set_autocast(state);
    at::autocast::set_autocast_cache_enabled(false);
}

AutocastScope::~AutocastScope() {
    set_autocast(before_);
    at::autocast::set_autocast_cache_enabled(remembers_);
}

}  // namespace dist::nn
