// Text: a GPT that says which byte comes next.
#pragma once

#include "course/data/text.hpp"
#include "course/trainer/task.hpp"

namespace dist::trainer {

class TextTask final : public Task {
  public:
    explicit TextTask(const Options& options);

    [[nodiscard]] TaskFacts facts() const override;
    [[nodiscard]] std::shared_ptr<nn::Model> make_model() const override;

    /// Windows: (B, T) bytes as int64, and those that follow them.
    [[nodiscard]] nn::Batch train_batch(std::span<const std::size_t> numbers, std::size_t epoch)
        const override;
    [[nodiscard]] at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels)
        const override;
    [[nodiscard]] at::Tensor accuracy(const at::Tensor& scores, const at::Tensor& labels)
        const override;
    [[nodiscard]] TestResult test(
        const std::function<at::Tensor(const at::Tensor&)>& forward, const Communicator& comm
    ) const override;

  private:
    const Options& options_;
    data::Text text_;
};

}  // namespace dist::trainer
