// A rank ends where the next one begins: one formula for both, and no chunk_bounds. The batch is cut to the set once.
#include <algorithm>

#include "exercises/05_data_parallel/distributed_sampler.hpp"
#include "exercises/10_elastic/elastic_sampler.hpp"

namespace dist {

ElasticSampler::ElasticSampler(std::size_t n, std::size_t batch, std::uint64_t seed)
    : n_(n), batch_(std::min(n, batch)), seed_(seed) {
    expects(n_ > 0 && batch_ > 0, "ElasticSampler: n and batch must be at least 1");
}

ElasticShare ElasticSampler::share(const EpochPosition& at, int rank, int ranks) const {
    expects(rank >= 0 && ranks > rank, "ElasticSampler: there is no such rank");
    expects(n_ > at.consumed, "ElasticSampler: an epoch has n examples, and no more");
    const std::size_t left = n_ - at.consumed;
    const bool last = left <= batch_;
    const std::size_t count = last ? left : batch_;
    const auto p = static_cast<std::size_t>(ranks);
    const auto begin = [&](std::size_t r) {
        return at.consumed + count / p * r + (r < count % p ? r : count % p);
    };
    const auto r = static_cast<std::size_t>(rank);
    ElasticShare share;
    share.places = {begin(r), begin(r + 1)};
    share.weight = 1.0 / static_cast<double>(count) * static_cast<double>(share.places.size());
    share.next.epoch = at.epoch + (last ? 1 : 0);
    share.next.consumed = last ? 0 : at.consumed + count;
    return share;
}

std::vector<std::size_t> ElasticSampler::examples(const EpochPosition& at, int rank, int ranks) {
    const ElasticShare mine = share(at, rank, ranks);
    if (!order_epoch_.has_value() || *order_epoch_ != at.epoch) {
        DistributedSampler all(n_, 0, 1, {.seed = seed_});
        all.set_epoch(at.epoch);
        order_.clear();
        order_ = all.indices();
        order_epoch_ = at.epoch;
    }
    std::vector<std::size_t> examples;
    for (std::size_t place = mine.places.begin; place < mine.places.end; ++place) {
        examples.push_back(order_[place]);
    }
    return examples;
}

}  // namespace dist
