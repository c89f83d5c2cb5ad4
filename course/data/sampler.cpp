#include "course/data/sampler.hpp"

#include <numeric>
#include <utility>

#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::data {

DistributedSampler::DistributedSampler(
    std::size_t n, int rank, int ranks, std::size_t batch, std::uint64_t seed
)
    : order_(n),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      batch_(batch),
      seed_(seed) {
    expects(n > 0 && batch > 0, "DistributedSampler: there must be pictures, and a batch to fill");
    expects(0 <= rank && rank < ranks, "DistributedSampler: rank must be one of 0 to ranks - 1");
    set_epoch(0);
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
    std::iota(order_.begin(), order_.end(), 0);
    // Fisher and Yates; std::shuffle would give another order with another standard library
    const std::uint64_t stream = seeded_bits(seed_, epoch);
    for (std::size_t i = order_.size() - 1; i > 0; --i) {
        std::swap(order_[i], order_[seeded_bits(stream, i) % (i + 1)]);
    }
}

std::size_t DistributedSampler::steps() const {
    const std::size_t global_batch = ranks_ * batch_;
    return (order_.size() + global_batch - 1) / global_batch;
}

std::vector<std::size_t> DistributedSampler::batch(std::size_t step) const {
    std::vector<std::size_t> pictures(batch_);
    for (std::size_t i = 0; i < batch_; ++i) {
        pictures[i] = order_[((step * batch_ + i) * ranks_ + rank_) % order_.size()];
    }
    return pictures;
}

}  // namespace dist::data
