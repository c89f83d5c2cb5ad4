// bfloat16 where it is safe: LibTorch's autocast.
#pragma once

#include <ATen/autocast_mode.h>

#include "course/nn/autocast_state.hpp"

namespace dist::trainer {

/// While it lives, convolutions and matrix products compute in bfloat16, if `enabled`; the rest
/// stays float32. Gradients are float32 in any case.
class Autocast {
  public:
    Autocast(bool enabled, at::DeviceType device) : device_(device) {
        at::autocast::increment_nesting();
        set(enabled);
    }
    ~Autocast() {
        if (at::autocast::decrement_nesting() == 0) {
            at::autocast::clear_cache();  // of weights in bfloat16: the next step has new ones
        }
        set(false);
    }
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;
    Autocast(Autocast&&) = delete;
    Autocast& operator=(Autocast&&) = delete;

  private:
    void set(bool enabled) const { nn::set_autocast(device_, {enabled, at::kBFloat16}); }

    at::DeviceType device_;
};

/// Seconds of a convolution like those of a ResNet34, there and back, on this processor: the least of some.
/// Where oneDNN has none in bfloat16 for this processor, LibTorch's own kernels take its place from here on.
double convolution_s(bool bf16);

}  // namespace dist::trainer
