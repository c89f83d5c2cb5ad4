// Who trains on which pictures: all of them, evenly, and in the same order on any number of ranks.
#include <algorithm>
#include <set>
#include <vector>

#include "course/data/sampler.hpp"
#include "tests/harness/catch2.hpp"

using dist::data::DistributedSampler;

namespace {

// The global batch of one step: what all ranks together train on.
std::multiset<std::size_t> global_batch(
    std::size_t n, int ranks, std::size_t batch, std::uint64_t epoch, std::size_t step
) {
    std::multiset<std::size_t> pictures;
    for (int rank = 0; rank < ranks; ++rank) {
        DistributedSampler sampler(n, rank, ranks, batch, 1);
        sampler.set_epoch(epoch);
        const auto share = sampler.batch(step);
        pictures.insert(share.begin(), share.end());
    }
    return pictures;
}

}  // namespace

TEST_CASE("an epoch uses every picture, and fills its last batch with the first ones", "[data]") {
    const int ranks = GENERATE(1, 2, 3, 5);
    const std::size_t n = GENERATE(1, 7, 60, 61);
    const std::size_t batch = 4;
    std::multiset<std::size_t> used;
    const std::size_t steps = DistributedSampler(n, 0, ranks, batch, 1).steps();
    for (std::size_t step = 0; step < steps; ++step) {
        used.merge(global_batch(n, ranks, batch, 3, step));
    }
    CHECK(used.size() == steps * batch * static_cast<std::size_t>(ranks));
    CHECK(used.size() - n < batch * static_cast<std::size_t>(ranks));
    for (std::size_t picture = 0; picture < n; ++picture) {
        CHECK(used.count(picture) >= used.size() / n);
        CHECK(used.count(picture) <= used.size() / n + 1);
    }
}

TEST_CASE("any number of ranks sees the same global batches", "[data]") {
    for (std::size_t step = 0; step < 3; ++step) {
        const auto one = global_batch(100, 1, 12, 0, step);
        CHECK(global_batch(100, 2, 6, 0, step) == one);
        CHECK(global_batch(100, 3, 4, 0, step) == one);
    }
}

TEST_CASE("every epoch has an order of its own, and the same one every time", "[data]") {
    DistributedSampler sampler(1000, 0, 1, 1000, 1);
    const auto first = sampler.batch(0);
    CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
    sampler.set_epoch(1);
    CHECK(sampler.batch(0) != first);
    sampler.set_epoch(0);
    CHECK(sampler.batch(0) == first);
    CHECK(DistributedSampler(1000, 0, 1, 1000, 2).batch(0) != first);
}

TEST_CASE("a sampler of nothing is refused", "[data]") {
    CHECK_THROWS_AS(DistributedSampler(0, 0, 1, 4, 1), std::invalid_argument);
    CHECK_THROWS_AS(DistributedSampler(10, 2, 2, 4, 1), std::invalid_argument);
}
