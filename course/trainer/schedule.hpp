// The learning rate over time.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

namespace dist::trainer {

/// From `from` at 0 to `to` at 1, on half a cosine.
inline double cosine_between(double from, double to, double way) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * way)) / 2;
}

/// A warm-up, then half a cosine: rises to `rate` over the first twentieth of the run, falls to 0
/// at its end.
///
/// step    0 <= step < steps.
///
/// Source  Loshchilov & Hutter (2017), "SGDR: Stochastic Gradient Descent with Warm Restarts";
///         Goyal et al. (2017), "Accurate, Large Minibatch SGD", section 2.2.
inline double cosine_rate(double rate, std::size_t step, std::size_t steps) {
    const std::size_t warm_up = steps / 20;
    if (step < warm_up) {
        return rate * static_cast<double>(step + 1) / static_cast<double>(warm_up + 1);
    }
    const double done = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return cosine_between(rate, 0, done);
}

/// One cycle: on half a cosine from a 25th of `rate` up to it, over three tenths of the run, and on
/// another down to a 10,000th of where it began. The rates of torch.optim.lr_scheduler.OneCycleLR.
///
/// step    0 <= step < steps.
///
/// Source  Smith & Topin (2018), "Super-Convergence: Very Fast Training of Neural Networks Using Large
///         Learning Rates".
inline double onecycle_rate(double rate, std::size_t step, std::size_t steps) {
    const double first = rate / 25;
    const double last = static_cast<double>(steps) - 1;
    const double top = 0.3 * static_cast<double>(steps) - 1;  // no whole number
    const auto now = static_cast<double>(step);
    return now <= top ? cosine_between(first, rate, now / top)
                      : cosine_between(rate, first / 1e4, (now - top) / (last - top));
}

}  // namespace dist::trainer
