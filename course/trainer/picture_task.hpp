// Pictures: a network that says which of ten classes each belongs to.
#pragma once

#include <optional>

#include "course/data/augment.hpp"
#include "course/data/cifar10.hpp"
#include "course/trainer/device_pictures.hpp"
#include "course/trainer/task.hpp"

namespace dist::trainer {

class PictureTask final : public Task {
  public:
    PictureTask(const Options& options, int rank);

    [[nodiscard]] TaskFacts facts() const override;
    [[nodiscard]] std::shared_ptr<nn::Model> make_model() const override;
    [[nodiscard]] nn::Batch train_batch(std::span<const std::size_t> numbers, std::size_t epoch)
        const override;
    [[nodiscard]] at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels)
        const override;
    [[nodiscard]] at::Tensor accuracy(const at::Tensor& scores, const at::Tensor& labels)
        const override;

    /// By exercise evaluate.
    [[nodiscard]] TestResult test(
        const std::function<at::Tensor(const at::Tensor&)>& forward, const Communicator& comm
    ) const override;

  private:
    /// These pictures of a set, on the device.
    [[nodiscard]] nn::Batch take(
        const data::PictureSet& pictures,
        const std::optional<DevicePictures>& on_device,
        std::span<const std::size_t> numbers,
        const std::function<data::View(std::size_t)>& view
    ) const;

    const Options& options_;
    data::Dataset data_;
    std::optional<DevicePictures> train_pictures_;  // where the device is not the host
    std::optional<DevicePictures> test_pictures_;
};

}  // namespace dist::trainer
