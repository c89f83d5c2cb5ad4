// What replicas of a model keep equal, in one row, and what they average in each step, in another.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "course/nn/model.hpp"
#include "course/nn/optimizer.hpp"
#include "course/parallel/options.hpp"
#include "course/parallel/state_dict.hpp"

namespace dist::trainer {

/// A model and its optimizer as QuorumStep takes them.
///
///     row   weights | statistics | what the optimizer keeps
///     mean  gradients | statistics | loss and accuracy
///
/// Parameters and the optimizer's tensors are parts of the row. Statistics, those of batch
/// normalisations, follow each replica's own examples during a step, so the model has some of its
/// own. A step that counts makes them the mean of all.
class ReplicaState {
  public:
    ReplicaState(const ParallelOptions& options, std::shared_ptr<nn::Model> model);

    [[nodiscard]] std::span<float> row() const;
    [[nodiscard]] std::span<float> mean() const;

    /// The gradients of the step before are gone, and the model has the row's statistics.
    void begin_step();

    /// Writes what is to be averaged: gradients of `loss`, statistics, and these two. Backward has
    /// been called.
    ///
    /// weight  of this replica in the mean, which loss and gradients have in them already.
    void gather(double weight, const at::Tensor& loss, const at::Tensor& accuracy);

    /// After all_reduce: of all examples of the step.
    [[nodiscard]] double loss() const { return results_[0].item<float>(); }
    [[nodiscard]] double accuracy() const { return results_[1].item<float>(); }

    /// The optimizer's step with the mean.
    void step(double rate);

    /// The row is one that so many steps have made: another replica's, perhaps.
    void set_steps(std::int64_t steps);

    /// As a run without replicas saves it.
    [[nodiscard]] StateDict state_dict();
    void load_state_dict(const StateDict& state, std::int64_t steps);

  private:
    [[nodiscard]] StateDict named();

    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    std::vector<at::Tensor> buffers_;  // the model's own, of float32
    nn::Optimizer optimizer_;
    std::vector<std::string> kept_names_;
    std::int64_t steps_ = 0;

    at::Tensor row_;
    std::vector<at::Tensor> statistics_;
    std::vector<std::vector<at::Tensor>> kept_;  // by name, of each parameter

    at::Tensor mean_;
    std::vector<at::Tensor> gradients_;
    std::vector<at::Tensor> mean_statistics_;
    at::Tensor results_;
};

}  // namespace dist::trainer
