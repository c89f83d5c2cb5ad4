#include "course/trainer/batch.hpp"

#include <ATen/ops/empty.h>
#include <cstdint>

namespace dist::trainer {

nn::Batch make_batch(
    const data::PictureSet& pictures,
    std::span<const std::size_t> numbers,
    const std::function<data::View(std::size_t)>& view
) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    const auto side = static_cast<std::int64_t>(data::kSide);
    nn::Batch batch{at::empty({size, 3, side, side}, at::kFloat), at::empty({size}, at::kLong)};
    const std::span floats(batch.inputs.data_ptr<float>(), numbers.size() * data::kPictureBytes);
    const std::span labels(batch.labels.data_ptr<std::int64_t>(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t number = numbers[i];
        const auto out = floats.subspan(i * data::kPictureBytes, data::kPictureBytes);
        data::write_view(pictures.picture(number), view(number), out);
        labels[i] = pictures.label(number);
    }
    return batch;
}

}  // namespace dist::trainer
