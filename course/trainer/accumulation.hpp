// Steps that add their gradients up before they are exchanged: --accumulate.
#pragma once

#include <algorithm>
#include <cstddef>

namespace dist::trainer {

/// The steps of an epoch in groups of k, the last of them shorter where k does not divide the epoch, or
/// the run ends. The optimizer steps once for each group.
struct Accumulation {
    std::size_t k = 1;
    std::size_t epoch_steps = 1;
    std::size_t all_steps = 1;  ///< of the run

    /// Steps done when the group of step `step`, counted from 0, begins.
    [[nodiscard]] std::size_t begin(std::size_t step) const {
        return step - step % epoch_steps % k;
    }

    /// Steps done when it ends.
    [[nodiscard]] std::size_t end(std::size_t step) const {
        const std::size_t epoch_end = (step / epoch_steps + 1) * epoch_steps;
        return std::min({begin(step) + k, epoch_end, all_steps});
    }

    /// Groups that begin before step `step`: the optimizer's steps until then.
    [[nodiscard]] std::size_t groups(std::size_t step) const {
        const auto rounded_up = [this](std::size_t steps) { return (steps + k - 1) / k; };
        return step / epoch_steps * rounded_up(epoch_steps) + rounded_up(step % epoch_steps);
    }
};

}  // namespace dist::trainer
