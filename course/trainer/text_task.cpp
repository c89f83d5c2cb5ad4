#include "course/trainer/text_task.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <c10/core/GradMode.h>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <mpi.h>

#include "course/nn/gpt.hpp"
#include "course/runtime/error.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist::trainer {

namespace {

nn::Batch batch_of(const data::Windows& windows, std::span<const std::size_t> numbers) {
    const auto context = static_cast<std::int64_t>(windows.context());
    const auto size = static_cast<std::int64_t>(numbers.size());
    nn::Batch batch{at::empty({size, context}, at::kLong), at::empty({size, context}, at::kLong)};
    auto* in = batch.inputs.data_ptr<std::int64_t>();
    auto* out = batch.labels.data_ptr<std::int64_t>();
    for (const std::size_t number : numbers) {
        const auto window = windows.window(number);
        in = std::copy(window.begin(), window.end() - 1, in);
        out = std::copy(window.begin() + 1, window.end(), out);
    }
    return batch;
}

}  // namespace

TextTask::TextTask(const Options& options)
    : options_(options),
      text_(data::load_text(
          options.text,
          static_cast<std::size_t>(options.gpt.context),
          options.train_size,
          options.test_size
      )) {}

TaskFacts TextTask::facts() const {
    return {
        .data = "data: " + text_.source + ": " + std::to_string(text_.train.bytes()) +
                " bytes to train on, " + std::to_string(text_.test.bytes()) + " to test",
        .examples = "windows",
        .train_size = text_.train.size(),
        .unit = "tokens",
        .units = text_.train.context(),
        .synthetic = false};
}

std::shared_ptr<nn::Model> TextTask::make_model() const {
    return nn::make_gpt(options_.gpt);
}

nn::Batch TextTask::train_batch(
    std::span<const std::size_t> numbers, std::size_t /*epoch*/
) const {
    return batch_of(text_.train, numbers);
}

at::Tensor TextTask::loss(const at::Tensor& scores, const at::Tensor& labels) const {
    return at::cross_entropy_loss(
        scores.flatten(0, 1), labels.flatten(), {}, at::Reduction::Mean, -100,
        options_.label_smoothing
    );
}

at::Tensor TextTask::accuracy(const at::Tensor& scores, const at::Tensor& labels) const {
    return scores.argmax(2).eq(labels).to(at::kFloat).mean();
}

TestResult TextTask::test(
    const std::function<at::Tensor(const at::Tensor&)>& forward, const Communicator& comm
) const {
    const c10::AutoGradMode no_graph(false);
    const auto [begin, end] = chunk_bounds(text_.test.size(), comm.size(), comm.rank());
    std::vector<std::size_t> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), begin);
    std::array<double, 3> sums{};  // losses, right ones, labels
    for (std::size_t i = 0; i < numbers.size(); i += options_.batch) {
        const std::size_t size = std::min(options_.batch, numbers.size() - i);
        const nn::Batch batch = batch_of(text_.test, std::span(numbers).subspan(i, size));
        const at::Tensor scores = forward(batch.inputs);
        const auto count = static_cast<double>(batch.labels.numel());
        const at::Tensor loss =
            at::cross_entropy_loss(scores.flatten(0, 1), batch.labels.flatten());
        sums[0] += loss.item<double>() * count;
        sums[1] += accuracy(scores, batch.labels).item<double>() * count;
        sums[2] += count;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_DOUBLE, MPI_SUM, comm.handle()));
    return {
        .counted = static_cast<std::size_t>(sums[2]),
        .accuracy = sums[1] / sums[2],
        .loss = sums[0] / sums[2]};
}

}  // namespace dist::trainer
