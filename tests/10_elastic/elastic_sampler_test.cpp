// elastic_sampler: every example once, while ranks come and go, in the order that one rank alone would have.
#include "exercises/10_elastic/elastic_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/05_data_parallel/deal.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/quick.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// A rank's step.
struct Step {
    std::size_t n = 0;
    std::size_t batch = 1;
    EpochPosition at = {};
    int rank = 0;
    int ranks = 1;
};

std::string words(const Step& s) {
    return text(
        counted(s.n, "example"), ", batch ", s.batch, ", epoch ", s.at.epoch, ", ", s.at.consumed,
        " consumed, rank ", s.rank, " of ", s.ranks
    );
}

std::string words(const ElasticShare& share) {
    return text(
        "places [", share.places.begin, ", ", share.places.end, "), weight ", share.weight,
        ", then epoch ", share.next.epoch, ", ", share.next.consumed, " consumed"
    );
}

ElasticShare share_of(const Step& s) {
    return ElasticSampler(s.n, s.batch, 7).share(s.at, s.rank, s.ranks);
}

/// Examples that all ranks together have in this step.
std::size_t count_of(const Step& s) {
    return std::min(s.batch, s.n - s.at.consumed);
}

/// Rank `rank`'s chunk of `count` places from `begin` on; the longer chunks come first.
Chunk cut(std::size_t begin, std::size_t count, const Step& s) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const auto r = static_cast<std::size_t>(s.rank);
    const std::size_t first = begin + r * (count / p) + std::min(r, count % p);
    return {first, first + count / p + (r < count % p ? 1 : 0)};
}

ElasticShare right_share(const Step& s) {
    const std::size_t count = count_of(s);
    const Chunk mine = cut(s.at.consumed, count, s);
    EpochPosition next = {s.at.epoch, s.at.consumed + count};
    if (s.n - s.at.consumed == count) {
        next = {s.at.epoch + 1, 0};
    }
    return {mine, static_cast<double>(mine.size()) / static_cast<double>(count), next};
}

/// Compares a whole share; if it is wrong, says what a wrong part of it is likely to be.
Comparison same_share(const ElasticShare& got, const ElasticShare& expected, const Step& s) {
    const std::size_t count = count_of(s);
    const std::size_t from = s.at.consumed;
    const Chunk mine = expected.places;
    const EpochPosition as_this_one = {
        s.at.epoch, from + mine.size() * static_cast<std::size_t>(s.ranks)};
    // a weight is a quotient of two counts, or a product with one over the other
    const bool is_weight = std::abs(got.weight - expected.weight) <= 1e-12;
    const bool is_place = got.places == mine;
    const bool is_next = got.next == expected.next;
    const std::pair<bool, const char*> guesses[] = {
        {!is_place && got.places == cut(0, count, s),
         "as if the epoch began anew: `consumed` examples come before"},
        {!is_place && got.places == cut(from / s.batch * s.batch, count, s),
         "as if positions were counted in full batches: this one begins at `consumed`"},
        {!is_place && got.places == cut(from, s.batch, s), "as if the last batch were full"},
        {!is_next && got.next == as_this_one, "as if all ranks had as many examples as this one"},
        {!is_next && got.next == EpochPosition{s.at.epoch, s.n},
         "the end of an epoch is the beginning of the next"},
        {!is_weight && got.weight == 1.0 / s.ranks,
         "the weight is 1 / ranks, as if all had equally many"},
        {!is_weight &&
             got.weight == static_cast<double>(mine.size()) / static_cast<double>(s.batch),
         "the weight is of a full batch, and this step has fewer examples"}};
    std::string why;
    for (const auto& [is_so, sentence] : guesses) {
        why += is_so ? text(". ", sentence) : "";
    }
    return {
        is_place && is_next && is_weight,
        "expected " + words(expected) + "; got " + words(got) + why};
}

/// An epoch on so many ranks in each step; the last number stays.
struct Resizes {
    std::size_t n = 0;
    std::size_t batch = 1;
    std::vector<int> ranks;

    [[nodiscard]] int ranks_at(std::size_t step) const {
        return ranks[std::min(step, ranks.size() - 1)];
    }
};

/// Whether epoch 0 takes every example once. Where `restarted`, a change of ranks begins with new samplers.
Comparison taken_once(const Resizes& run, bool restarted) {
    std::map<std::size_t, std::string> taken;  // by whom
    const ElasticSampler unused(run.n, run.batch, 7);
    ElasticSampler sampler = unused;
    ElasticShare share;
    for (std::size_t step = 0; share.next.epoch == 0 && step < run.n; ++step) {
        const EpochPosition at = share.next;
        const int ranks = run.ranks_at(step);
        if (restarted && step > 0 && ranks != run.ranks_at(step - 1)) {
            sampler = unused;
        }
        for (int rank = 0; rank < ranks; ++rank) {
            share = sampler.share(at, rank, ranks);
            const std::string here =
                text("rank ", rank, " of ", ranks, " with ", at.consumed, " consumed");
            for (const std::size_t example : sampler.examples(at, rank, ranks)) {
                const auto [before, is_new] = taken.emplace(example, here);
                if (!is_new) {
                    const std::string twice = text("example ", example, " comes twice: to ");
                    return {false, twice + before->second + ", and to " + here};
                }
            }
        }
    }
    return {
        taken.size() == run.n && share.next == EpochPosition{1, 0},
        text(taken.size(), " of ", run.n, " examples came; after the last, ", words(share))};
}

/// Compares the examples of a step; `order` is that of its epoch.
Comparison same_examples(const Indices& got, const Indices& order, const Step& step) {
    const Chunk mine = right_share(step).places;
    const auto part = std::span(order).subspan(mine.begin, mine.size());
    const Indices expected(part.begin(), part.end());
    return {got == expected, "expected " + text_of(expected) + ", got " + text_of(got)};
}

}  // namespace

TEST_CASE(
    "elastic_sampler cuts each batch, from any position on, also the last, for any number of ranks"
) {
    on_one([] {
        for (const std::size_t n : {31, 10, 7, 2, 1}) {
            for (const std::size_t batch : {10, 8, 3, 64, 1}) {
                for (std::size_t consumed = 0; consumed < n; ++consumed) {
                    for (const int ranks : {4, 3, 2, 5, 11, 1}) {
                        for (int rank = 0; rank < ranks; ++rank) {
                            const Step step{n, batch, {5, consumed}, rank, ranks};
                            INFO(words(step));
                            REQUIRE(same_share(share_of(step), right_share(step), step));
                        }
                    }
                }
            }
        }
        INFO("examples 17 to 26 on 4 ranks are 3, 3, 2 and 2");
        CHECK(ElasticSampler(100, 10, 7).share({0, 17}, 2, 4).places == Chunk{23, 25});
    });
}

TEST_CASE("over 4, 3 and 5 ranks in the middle of an epoch every example comes exactly once") {
    on_one([] {
        const std::vector<std::vector<int>> changes = {
            {4}, {4, 4, 3, 3, 5}, {4, 3, 5}, {1, 5, 2, 4, 3, 1}, {11, 1}, {2, 2, 2, 3}};
        for (const std::size_t batch : {12, 10, 7, 1, 4}) {
            for (const std::size_t n : {60, 61, 100, 7}) {
                for (const std::vector<int>& ranks : changes) {
                    for (const bool restarted : {true, false}) {
                        INFO(
                            counted(n, "example") << ", batch " << batch << ", on "
                                                  << text_of(Indices(ranks.begin(), ranks.end()))
                                                  << " ranks, a number for each step"
                        );
                        REQUIRE(taken_once({n, batch, ranks}, restarted));
                    }
                }
            }
        }
    });
}

TEST_CASE("the order is DistributedSampler's of one rank, on all ranks and for any number of them"
) {
    on_ranks({5}, [](const Communicator& comm) {
        const std::size_t n = 50;
        for (const std::uint64_t seed : {std::uint64_t{3}, (std::uint64_t{1} << 40U) + 3}) {
            ElasticSampler sampler(n, 8, seed);
            EpochPosition at;
            for (const int ranks : {4, 4, 3, 5, 1, 2, 5, 3, 4, 5}) {
                const Step step{n, 8, at, comm.rank() % ranks, ranks};
                INFO("it depends on n, seed and epoch alone; " << words(step));
                CHECK(same_examples(
                    sampler.examples(at, step.rank, ranks), order_of(n, seed, at.epoch), step
                ));
                at = right_share(step).next;
            }
        }
    });
}

TEST_CASE("a sampler that is asked about another epoch has the order of that one") {
    on_one([] {
        ElasticSampler sampler(12, 12, 7);
        ElasticSampler other(12, 12, 8);
        for (const std::uint64_t epoch :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{6},
              std::uint64_t{1} << 32U, std::uint64_t{5}}) {
            INFO("asked about epochs 0, 1, 0, 6, 2^32 and 5, one after another: now " << epoch);
            const Step step{12, 12, {epoch, 0}};
            REQUIRE(same_examples(sampler.examples(step.at, 0, 1), order_of(12, 7, epoch), step));
            INFO("another sampler, with another seed");
            REQUIRE(same_examples(other.examples(step.at, 0, 1), order_of(12, 8, epoch), step));
        }
    });
}

TEST_CASE("the order is made once an epoch, and share() can do without it") {
    on_ranks({1}, [](const Communicator& comm) {
        const std::size_t n = 100'000;
        ElasticSampler sampler(n, 100, 7);
        (void)sampler.examples({3, 0}, 0, 4);
        const Memory step = memory_of(comm, [&] { (void)sampler.examples({3, 500}, 1, 3); });
        INFO(
            "a step took so many bytes for 33 examples: as if the order were made anew in each step"
        );
        CHECK(step.peak_bytes < static_cast<long>(n));
        const Memory share = memory_of(comm, [&] {
            (void)ElasticSampler(n, 100, 7).share({4, 500}, 1, 3);
        });
        INFO("share() allocates memory: places are numbers, which come from no order");
        CHECK(share.allocations == 0);
    });
}

TEST_CASE("share() is a few operations, and counts to more than 2^31 and 2^53") {
    on_one([] {
        constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
        constexpr std::size_t kOdd = (std::size_t{1} << 53U) + 1;  // no double has that value
        constexpr int kRanks = 1'000'000'000;
        const ElasticSampler sampler(kOdd, kOdd / 2, 7);
        REQUIRE(takes_a_few_operations("ranks, batch or n", [&] {
            (void)sampler.share({0, 5}, kRanks - 1, kRanks);
        }));
        for (const Step& step :
             {Step{3'000'000'000, 8, {0, 2'999'999'900}, 1, 3}, Step{kOdd + 10, 8, {0, kOdd}, 1, 3},
              Step{kOdd + 10, kOdd, {std::uint64_t{1} << 40U, 3}, 2, 3},
              Step{10, kMost, {0, 3}, 1, 2}, Step{kMost, kMost - 1, {0, 2}, 2, 3},
              Step{kMost, 7, {0, kMost - 3}, 2, 3},
              Step{kOdd, 3'000'000'001, {0, 5}, kRanks - 1, kRanks}}) {
            INFO(words(step) << "; numbers have 64 bits, and a sum of two may need one more");
            CHECK(same_share(share_of(step), right_share(step), step));
        }
    });
}

TEST_CASE(
    "elastic_sampler refuses no examples, no batch, a position behind the end, and no such rank"
) {
    on_one([] {
        CHECK_THROWS_AS(ElasticSampler(0, 10, 7), std::invalid_argument);
        CHECK_THROWS_AS(ElasticSampler(10, 0, 7), std::invalid_argument);
        ElasticSampler sampler(10, 4, 7);
        const auto refused = [&](std::size_t consumed, int rank, int ranks) {
            INFO(words(Step{10, 4, {0, consumed}, rank, ranks}));
            CHECK_THROWS_AS(sampler.share({0, consumed}, rank, ranks), std::invalid_argument);
            CHECK_THROWS_AS(sampler.examples({0, consumed}, rank, ranks), std::invalid_argument);
        };
        refused(10, 0, 3);
        refused(0, 3, 3);
        refused(0, -1, 3);
        refused(0, 0, 0);
        INFO("the last example, on the last of 5 ranks");
        CHECK_NOTHROW(sampler.share({0, 9}, 4, 5));
    });
}
