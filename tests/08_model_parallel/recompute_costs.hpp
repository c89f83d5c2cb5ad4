// What recompute holds between forward and backward, and in backward.
#pragma once

#include <ATen/Context.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <vector>

#include "course/parallel/autocast.hpp"
#include "tests/08_model_parallel/recomputed.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/memory.hpp"

namespace dist::harness {

/// Layers in segments: the inputs of all, to the byte, and in backward the layers of one.
inline void holds_inputs_alone() {
    constexpr std::size_t kLayers = 16;
    constexpr std::size_t kActivation = std::size_t{4} * 50'000;
    constexpr std::size_t kState = 6'000;  // of the generator, and what describes a segment
    for (const std::size_t segments : {std::size_t{1}, std::size_t{4}, kLayers}) {
        const std::size_t layers = kLayers / segments;
        const MemoryBefore before;
        const at::Tensor x = at::ones({50'000}).requires_grad_();
        const Module module = [&](const Tensors& in) {
            at::Tensor h = in[0];
            for (std::size_t i = 0; i < layers; ++i) {
                h = h.tanh();  // keeps its result for backward
            }
            return h;
        };
        at::Tensor y = x;
        for (std::size_t i = 0; i < segments; ++i) {
            y = recompute(module, {y});
        }
        INFO(
            kLayers << " layers in segments of " << layers << "; an activation has " << kActivation
                    << " bytes"
        );
        {
            INFO("x, and the result of each segment");
            const std::size_t held = before.tensors_since();
            const std::size_t least = (segments + 1) * kActivation;
            CHECK(held >= least);
            CHECK(held <= least + segments * kState);
            CHECK(before.nothing_beside());
        }
        const at::Tensor gradient = at::ones({50'000});
        forget_peak();
        y.backward(gradient);
        const std::size_t peak = before.peak_since();
        INFO("in backward: " << peak / kActivation << " activations");
        // x, results, the gradient given; a segment's layers; gradients behind and before a layer
        CHECK(peak <= (segments + 2 + layers + 2) * kActivation + segments * kState);
        y.reset();
        INFO("afterwards: x, its gradient, and the gradient given");
        CHECK(same_bytes(before.tensors_since(), 3 * kActivation));
    }
}

/// While it lives, LibTorch multiplies by its own code: oneDNN cannot in bfloat16 on each processor that LibTorch takes
/// for one that can.
class WithoutOneDnn {
  public:
    WithoutOneDnn() { at::globalContext().setUserEnabledMkldnn(false); }
    ~WithoutOneDnn() { at::globalContext().setUserEnabledMkldnn(before_); }
    WithoutOneDnn(const WithoutOneDnn&) = delete;
    WithoutOneDnn& operator=(const WithoutOneDnn&) = delete;
    WithoutOneDnn(WithoutOneDnn&&) = delete;
    WithoutOneDnn& operator=(WithoutOneDnn&&) = delete;

  private:
    bool before_ = at::globalContext().userEnabledMkldnn();
};

/// Segments in a region of autocast, which remembers casts.
inline void autocast_keeps_no_narrow_copy() {
    constexpr std::size_t kSegments = 4;
    constexpr std::size_t kActivation = std::size_t{4} * 256 * 64;
    constexpr std::size_t kNarrowWeights = std::size_t{2} * 64 * 64;
    const at::Tensor x = at::ones({256, 64}).requires_grad_();
    const at::Tensor w = at::ones({64, 64}).requires_grad_();
    const Module module = [&](const Tensors& in) {
        return at::linear(in[0], w).to(at::kFloat).div(64);
    };
    const WithoutOneDnn own_products;
    const MemoryBefore before;
    const trainer::Autocast on(true, at::kCPU);
    at::Tensor y = x;
    for (std::size_t i = 0; i < kSegments; ++i) {
        y = recompute(module, {y});
    }
    INFO("the results of " << kSegments << " segments, of " << kActivation << " bytes each");
    CHECK(before.tensors_since() <= kSegments * (kActivation + 6'000) + kNarrowWeights);
}

}  // namespace dist::harness
