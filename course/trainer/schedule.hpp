// The learning rate over time.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

namespace dist::trainer {

/// A warm-up, then half a cosine: rises to `rate` over the first twentieth of the run, falls to 0
/// at its end.
///
/// step    0 <= step < steps.
///
/// Source  Loshchilov & Hutter (2017), "SGDR: Stochastic Gradient Descent with Warm Restarts";
///         Goyal et al. (2017), "Accurate, Large Minibatch SGD", section 2.2.
inline double learning_rate(double rate, std::size_t step, std::size_t steps) {
    const std::size_t warm_up = steps / 20;
    if (step < warm_up) {
        return rate * static_cast<double>(step + 1) / static_cast<double>(warm_up + 1);
    }
    const double done = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace dist::trainer
