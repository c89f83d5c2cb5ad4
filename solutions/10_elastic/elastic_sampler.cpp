#include "exercises/10_elastic/elastic_sampler.hpp"

#include <algorithm>
#include <span>

#include "exercises/05_data_parallel/distributed_sampler.hpp"

namespace dist {

ElasticSampler::ElasticSampler(std::size_t n, std::size_t batch, std::uint64_t seed)
    : n_(n), batch_(batch), seed_(seed) {
    expects(n >= 1, "ElasticSampler: there must be at least one example");
    expects(batch >= 1, "ElasticSampler: batch must be at least 1");
}

ElasticShare ElasticSampler::share(const EpochPosition& at, int rank, int ranks) const {
    expects(0 <= rank && rank < ranks, "ElasticSampler: rank must be one of 0 to ranks-1");
    expects(at.consumed < n_, "ElasticSampler: consumed must be less than n");
    // what is left, and not consumed + batch, which may be more than 64 bits hold
    const std::size_t count = std::min(batch_, n_ - at.consumed);
    const Chunk mine = chunk_bounds(count, ranks, rank);
    EpochPosition next = {at.epoch, at.consumed + count};
    if (next.consumed == n_) {
        next = {at.epoch + 1, 0};
    }
    return {
        .places = {at.consumed + mine.begin, at.consumed + mine.end},
        .weight = static_cast<double>(mine.size()) / static_cast<double>(count),
        .next = next};
}

std::vector<std::size_t> ElasticSampler::examples(const EpochPosition& at, int rank, int ranks) {
    const Chunk places = share(at, rank, ranks).places;
    if (order_epoch_ != at.epoch) {
        DistributedSampler sampler(n_, 0, 1, {.seed = seed_});
        sampler.set_epoch(at.epoch);
        order_ = sampler.indices();
        order_epoch_ = at.epoch;
    }
    const auto mine = std::span(order_).subspan(places.begin, places.size());
    return {mine.begin(), mine.end()};
}

}  // namespace dist
