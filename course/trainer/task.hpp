// What a run learns: pictures or text. It has data, a model, a loss, and a measure of what was learned.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "course/nn/batch.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/communicator.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/task_facts.hpp"

namespace dist::trainer {

class Task {
  public:
    Task() = default;
    virtual ~Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    Task(Task&&) = delete;
    Task& operator=(Task&&) = delete;

    [[nodiscard]] virtual TaskFacts facts() const = 0;

    /// Fresh weights from LibTorch's generator.
    [[nodiscard]] virtual std::shared_ptr<nn::Model> make_model() const = 0;

    /// Examples of the training set with these numbers, as they are in this epoch; on the run's device.
    [[nodiscard]] virtual nn::Batch train_batch(
        std::span<const std::size_t> numbers, std::size_t epoch
    ) const = 0;

    /// One number: the mean over the labels.
    ///
    /// scores  of the model, float32.
    [[nodiscard]] virtual at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels)
        const = 0;

    /// Share of the labels whose score is the largest: one number, float32.
    [[nodiscard]] virtual at::Tensor accuracy(const at::Tensor& scores, const at::Tensor& labels)
        const = 0;

    /// Tries the model on the whole test set, shared out among the ranks; every rank gets the same result.
    ///
    /// forward  the model, in evaluation.
    /// comm     collective: every rank of `comm` makes this call.
    [[nodiscard]] virtual TestResult test(
        const std::function<at::Tensor(const at::Tensor&)>& forward, const Communicator& comm
    ) const = 0;
};

/// What --model asks for. Reads the data.
///
/// rank    of this process: which device it has.
///
/// Errors  std::runtime_error, saying what to do, if the data cannot be used.
std::unique_ptr<Task> make_task(const Options& options, int rank);

}  // namespace dist::trainer
