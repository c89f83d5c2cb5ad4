#include "course/trainer/picture_task.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "course/parallel/device.hpp"
#include "course/trainer/batch.hpp"
#include "exercises/05_data_parallel/evaluate.hpp"

namespace dist::trainer {

PictureTask::PictureTask(const Options& options, int rank)
    : options_(options),
      data_(data::load_dataset(options.data, options.train_size, options.test_size, options.seed)) {
    const at::Device device = device_of(options, rank);
    if (!device.is_cpu()) {
        train_pictures_.emplace(data_.train, device);
        test_pictures_.emplace(data_.test, device);
    }
}

TaskFacts PictureTask::facts() const {
    const std::string sizes = std::to_string(data_.train.size()) + " pictures to train on, " +
                              std::to_string(data_.test.size()) + " to test";
    return {
        .data = data_.synthetic ? "data: SYNTHETIC pictures made from the seed, not real ones "
                                  "(datasets/README.md): " +
                                      sizes
                                : "data: CIFAR-10 in " + data_.source + ": " + sizes,
        .examples = "pictures",
        .train_size = data_.train.size(),
        .synthetic = data_.synthetic};
}

std::shared_ptr<nn::Model> PictureTask::make_model() const {
    auto model = nn::make_model(options_.model);
    for (at::Tensor& parameter : model->parameters()) {
        if (options_.channels_last && parameter.dim() == 4) {
            parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
        }
    }
    return model;
}

nn::Batch PictureTask::train_batch(std::span<const std::size_t> numbers, std::size_t epoch) const {
    const auto view = [&](std::size_t picture) {
        return options_.augment == "none" ? data::View{}
                                          : data::random_view(options_.seed, epoch, picture);
    };
    return take(data_.train, train_pictures_, numbers, view);
}

at::Tensor PictureTask::loss(const at::Tensor& scores, const at::Tensor& labels) const {
    return at::cross_entropy_loss(
        scores, labels, {}, at::Reduction::Mean, -100, options_.label_smoothing
    );
}

at::Tensor PictureTask::accuracy(const at::Tensor& scores, const at::Tensor& labels) const {
    return scores.argmax(1).eq(labels).to(at::kFloat).mean();
}

TestResult PictureTask::test(
    const std::function<at::Tensor(const at::Tensor&)>& forward, const Communicator& comm
) const {
    const Evaluation result = dist::evaluate(
        forward,
        [this](std::span<const std::size_t> numbers) {
            return take(data_.test, test_pictures_, numbers, [](std::size_t) {
                return data::View{};
            });
        },
        data_.test.size(), options_.batch, comm
    );
    return {
        .counted = data_.test.size(),
        .accuracy = static_cast<double>(result.correct) / static_cast<double>(result.counted),
        .loss = {}};
}

nn::Batch PictureTask::take(
    const data::PictureSet& pictures,
    const std::optional<DevicePictures>& on_device,
    std::span<const std::size_t> numbers,
    const std::function<data::View(std::size_t)>& view
) const {
    nn::Batch batch;
    if (on_device) {
        std::vector<data::View> views;
        std::ranges::transform(numbers, std::back_inserter(views), view);
        batch = on_device->batch(numbers, views);
    } else {
        batch = make_batch(pictures, numbers, view);
    }
    const auto format =
        options_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    batch.inputs = batch.inputs.contiguous(format);
    return batch;
}

}  // namespace dist::trainer
