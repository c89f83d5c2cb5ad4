// Which examples a rank trains on, step by step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "course/trainer/options.hpp"

namespace dist::trainer {

/// This rank's examples of one step.
struct StepExamples {
    std::span<const std::size_t> numbers;  // never none; valid until the next call
    double weight =
        1;  // of this rank's loss in the mean over the data ranks; 0 where it only keeps step
};

class Examples {
  public:
    Examples() = default;
    virtual ~Examples() = default;
    Examples(const Examples&) = delete;
    Examples& operator=(const Examples&) = delete;
    Examples(Examples&&) = delete;
    Examples& operator=(Examples&&) = delete;

    /// 0 where the set is too small for a step.
    [[nodiscard]] virtual std::size_t epoch_steps() const = 0;

    /// Examples that all data ranks together have seen after so many steps of the run.
    [[nodiscard]] virtual std::size_t seen_after(std::size_t steps) const = 0;

    /// Those of step `step` of the run, counted from 0.
    ///
    /// Cost  O(n) operations in the first step of an epoch, and where a run goes on.
    [[nodiscard]] virtual StepExamples of_step(std::size_t step) = 0;
};

/// With --batch each data rank takes as many, as exercise distributed_sampler deals them out; with --global-batch all together,
/// as elastic_sampler does.
///
/// n  examples of the training set.
std::unique_ptr<Examples> make_examples(
    const Options& options, std::size_t n, int data_rank, int data_ranks
);

}  // namespace dist::trainer
