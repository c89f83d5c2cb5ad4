#include "exercises/05_data_parallel/distributed_sampler.hpp"

#include <numeric>
#include <utility>

#include "course/runtime/seeded.hpp"

namespace dist {

DistributedSampler::DistributedSampler(std::size_t n, int rank, int ranks, const Options& options)
    : n_(n),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      options_(options) {
    expects(n >= 1, "DistributedSampler: there must be at least one example");
    expects(options.batch >= 1, "DistributedSampler: batch must be at least 1");
    expects(0 <= rank && rank < ranks, "DistributedSampler: rank must be one of 0 to ranks-1");
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
}

std::size_t DistributedSampler::size() const {
    const std::size_t global_batch = ranks_ * options_.batch;
    const std::size_t batches =
        options_.drop_last ? n_ / global_batch : (n_ + global_batch - 1) / global_batch;
    return batches * options_.batch;
}

std::vector<std::size_t> DistributedSampler::indices() const {
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    if (options_.shuffle) {
        // Fisher and Yates; std::shuffle would give another order with another standard library
        const std::uint64_t stream = seeded_bits(options_.seed, epoch_);
        for (std::size_t i = n_ - 1; i > 0; --i) {
            std::swap(order[i], order[seeded_bits(stream, i) % (i + 1)]);
        }
    }
    std::vector<std::size_t> mine(size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
        mine[i] = order[(rank_ + i * ranks_) % n_];  // behind its end the order begins again
    }
    return mine;
}

}  // namespace dist
