// Exercise 05: the training loop. What it calls is there; what makes it train is the order.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>

#include "course/nn/batch.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// A rank's part in a run, as the loop sees it: its replica of the model, its share of the data, the
/// optimizer, the log. Behind it stand your own collectives. `./shardlings train` makes one for a
/// ResNet34 on CIFAR-10; the test makes smaller ones. All ranks make the same calls.
class TrainingParts {
  public:
    TrainingParts() = default;
    virtual ~TrainingParts() = default;
    TrainingParts(const TrainingParts&) = delete;
    TrainingParts& operator=(const TrainingParts&) = delete;
    TrainingParts(TrainingParts&&) = delete;
    TrainingParts& operator=(TrainingParts&&) = delete;

    /// Steps done, from the run's beginning: more than 0 at first where a run goes on from a
    /// checkpoint, which may be in the middle of an epoch. end_step() adds one.
    [[nodiscard]] virtual std::size_t step() const = 0;

    /// Steps after which the run ends: it need not be at an epoch's end.
    [[nodiscard]] virtual std::size_t steps() const = 0;

    /// Steps in an epoch, >= 1: epoch e has the steps e * epoch_steps() to (e+1) * epoch_steps() - 1.
    [[nodiscard]] virtual std::size_t epoch_steps() const = 0;

    /// An epoch begins, or goes on after a checkpoint: its order of examples is made.
    virtual void set_epoch(std::size_t epoch) = 0;

    /// How the model's layers behave: true for training (dropout drops, normalisations follow the
    /// batch), false for evaluation.
    virtual void train(bool on) = 0;

    /// This rank's examples, `inputs` and `labels`, for the step that step() says.
    virtual nn::Batch next_batch() = 0;

    /// No parameter has a gradient any more: backward() adds to what is there.
    virtual void zero_gradients() = 0;

    /// What the model makes of the inputs: of pictures (B, 3, 32, 32), scores (B, 10).
    virtual at::Tensor forward(const at::Tensor& inputs) = 0;

    /// One number, the mean over this rank's batch: loss.backward() gives its gradients.
    virtual at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels) = 0;

    /// Every gradient becomes its mean over all ranks.
    virtual void exchange_gradients() = 0;

    /// Every parameter moves by the gradients as they are now.
    virtual void optimizer_step() = 0;

    /// A step is done: its loss goes into the log.
    virtual void end_step(const at::Tensor& loss) = 0;

    /// The model is tried on the test set: expects it to be in evaluation.
    virtual void evaluate() = 0;

    /// A checkpoint is written, if the run has them.
    virtual void save() = 0;
};

/// One step of training: forward and backward on this rank's batch, the ranks' gradients averaged, the
/// optimizer's step with them.
///
/// Cost    one call each of next_batch, zero_gradients, forward, loss, exchange_gradients,
///         optimizer_step and end_step.
/// Errors  what `parts` throws.
void train_step(TrainingParts& parts);

/// The run, from parts.step() to parts.steps(): epoch for epoch, the model in training during its
/// steps, then in evaluation for the test, then a checkpoint. Both come after the last steps as well,
/// where the run ends in the middle of an epoch. A run that has no step left does nothing.
///
/// Cost    a train_step for every step that is left; set_epoch, evaluate and save once an epoch.
/// Errors  what `parts` throws.
/// Source  Goyal et al. (2017), "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour".
void resnet_trainer(TrainingParts& parts);

}  // namespace dist
