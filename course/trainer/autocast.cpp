#include "course/trainer/autocast.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <algorithm>

#include "course/runtime/clock.hpp"

namespace dist::trainer {

double convolution_s(bool bf16) {
    const at::Tensor pictures = at::ones({16, 128, 8, 8}).requires_grad_();
    const at::Tensor weight = at::ones({128, 128, 3, 3}).requires_grad_();
    double least_s = 0;
    constexpr int kTimes = 5;  // the first makes the code
    for (int i = 0; i < kTimes; ++i) {
        const Stopwatch watch;
        const Autocast autocast(bf16, at::kCPU);
        at::conv2d(pictures, weight, {}, /*stride=*/1, /*padding=*/1).sum().backward();
        least_s = i == 0 ? watch.elapsed_s() : std::min(least_s, watch.elapsed_s());
    }
    return least_s;
}

}  // namespace dist::trainer
