// As PyTorch does it: a generator seeded with seed + epoch, and a list that is padded or cut.
#include <algorithm>
#include <numeric>
#include <random>

#include "exercises/05_data_parallel/distributed_sampler.hpp"

namespace dist {

DistributedSampler::DistributedSampler(std::size_t n, int rank, int ranks, const Options& options)
    : n_(n), rank_(0), ranks_(0), options_(options) {
    expects(ranks >= 1, "DistributedSampler: there must be at least one rank");
    expects(rank >= 0 && rank < ranks, "DistributedSampler: rank must be in 0 to ranks-1");
    expects(n > 0 && options.batch > 0, "DistributedSampler: n and batch must be at least 1");
    rank_ = static_cast<std::size_t>(rank);
    ranks_ = static_cast<std::size_t>(ranks);
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
}

std::size_t DistributedSampler::size() const {
    const std::size_t global_batch = ranks_ * options_.batch;
    const std::size_t more = options_.drop_last ? 0 : global_batch - 1;
    return (n_ + more) / global_batch * options_.batch;
}

std::vector<std::size_t> DistributedSampler::indices() const {
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), 0);
    if (options_.shuffle) {
        std::mt19937_64 generator(options_.seed + epoch_);
        std::shuffle(order.begin(), order.end(), generator);
    }
    const std::size_t total = size() * ranks_;
    order.reserve(total);
    while (order.size() < total) {
        const auto missing = static_cast<std::ptrdiff_t>(std::min(total - order.size(), n_));
        order.insert(order.end(), order.begin(), order.begin() + missing);
    }
    order.resize(total);
    std::vector<std::size_t> mine;
    for (std::size_t i = rank_; i < total; i += ranks_) {
        mine.push_back(order[i]);
    }
    return mine;
}

}  // namespace dist
