// The order is shuffled while it is written, from the front; and dealt out round by round.
#include "course/runtime/seeded.hpp"
#include "exercises/05_data_parallel/distributed_sampler.hpp"

namespace dist {

DistributedSampler::DistributedSampler(std::size_t n, int rank, int ranks, const Options& options)
    : n_(n),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      options_(options) {
    expects(n != 0, "DistributedSampler: there must be an example");
    expects(ranks > 0, "DistributedSampler: there must be a rank");
    expects(rank >= 0 && rank < ranks, "DistributedSampler: rank must be below ranks");
    expects(options.batch != 0, "DistributedSampler: a batch has at least one example");
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
}

std::size_t DistributedSampler::size() const {
    const std::size_t global_batch = ranks_ * options_.batch;
    const std::size_t batches =
        options_.drop_last ? n_ / global_batch : (n_ - 1) / global_batch + 1;
    return batches * options_.batch;
}

std::vector<std::size_t> DistributedSampler::indices() const {
    std::vector<std::size_t> order(n_);
    const std::uint64_t stream = seeded_bits(seeded_bits(~options_.seed, 0) ^ epoch_, 0);
    for (std::size_t i = 0; i < n_; ++i) {
        const std::size_t j = options_.shuffle ? seeded_bits(stream, i) % (i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    std::vector<std::size_t> mine;
    std::size_t turn = 0;
    for (std::size_t next = 0; mine.size() < size(); next = (next + 1) % n_) {
        if (turn == rank_) {
            mine.push_back(order[next]);
        }
        turn = (turn + 1) % ranks_;
    }
    return mine;
}

}  // namespace dist
