// elastic_sampler: every example once, while ranks come and go, and the gradient that one rank would have.
#include "exercises/10_elastic/elastic_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
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

std::string words(const EpochPosition& at) {
    return text("epoch ", at.epoch, ", ", at.consumed, " consumed");
}

std::string words(const Chunk& places) {
    return text("[", places.begin, ", ", places.end, ")");
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

/// What a wrong value is likely to be: the first sentence whose value was got.
template <class Value>
std::string guess(const Value& got, const std::vector<std::pair<Value, std::string>>& known) {
    for (const auto& [value, sentence] : known) {
        if (got == value) {
            return ": " + sentence;
        }
    }
    return "";
}

Comparison same_places(const Chunk& got, const Chunk& expected, const Step& s) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const auto r = static_cast<std::size_t>(s.rank);
    const std::size_t count = count_of(s);
    const std::size_t from = s.at.consumed;
    const auto equal_parts = [&](std::size_t each) {
        return Chunk{from + std::min(r * each, count), from + std::min((r + 1) * each, count)};
    };
    const std::size_t up = count / p + (count % p > 0 ? 1 : 0);
    return {
        got == expected,
        "places: expected " + words(expected) + ", got " + words(got) +
            guess<Chunk>(
                got,
                {{cut(0, count, s), "as if the epoch began anew: `consumed` examples come before"},
                 {cut(from / s.batch * s.batch, count, s),
                  "as if positions were counted in full batches: this one begins at `consumed`"},
                 {equal_parts(count / p), "as if all ranks had equally many, rounded down"},
                 {equal_parts(up), "as if all ranks had equally many, rounded up"},
                 {cut(from, s.batch, s), "as if the last batch were full"}}
            )};
}

Comparison same_weight(const ElasticShare& got, const ElasticShare& expected, const Step& s) {
    const auto mine = static_cast<double>(expected.places.size());
    // a quotient of two counts, or a product with one over the other
    return {
        std::abs(got.weight - expected.weight) <= 1e-12,
        text(
            "weight: expected ", expected.weight, ", got ", got.weight,
            guess<double>(
                got.weight,
                {{1.0 / s.ranks, "that is 1 / ranks, as if all had equally many examples"},
                 {mine / static_cast<double>(s.batch),
                  "that divides by a full batch, and this step has fewer examples"},
                 {mine, "that is a count: divide it by the examples of all ranks"}}
            )
        )};
}

Comparison same_next(const EpochPosition& got, const EpochPosition& expected, const Step& s) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const std::size_t by_this_rank = s.at.consumed + cut(0, count_of(s), s).size() * p;
    return {
        got == expected,
        "next: expected " + words(expected) + ", got " + words(got) +
            guess<EpochPosition>(
                got,
                {{{s.at.epoch, s.n}, "the end of an epoch is the beginning of the next"},
                 {{s.at.epoch, s.at.consumed + s.batch}, "as if the last batch were full"},
                 {{s.at.epoch, by_this_rank}, "as if all ranks had as many examples as this one"},
                 {{s.at.epoch + 1, 0}, "as if the epoch were over: the last examples are left out"}}
            )};
}

/// Compares a whole share.
Comparison same_share(const ElasticShare& got, const ElasticShare& expected, const Step& s) {
    for (const Comparison& part :
         {same_places(got.places, expected.places, s), same_next(got.next, expected.next, s),
          same_weight(got, expected, s)}) {
        if (!part) {
            return part;
        }
    }
    return {};
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
    EpochPosition at;
    for (std::size_t step = 0; at.epoch == 0 && step < run.n; ++step) {
        const int ranks = run.ranks_at(step);
        if (restarted && step > 0 && ranks != run.ranks_at(step - 1)) {
            sampler = unused;
        }
        EpochPosition next;
        for (int rank = 0; rank < ranks; ++rank) {
            next = sampler.share(at, rank, ranks).next;
            const std::string here =
                text("rank ", rank, " of ", ranks, " with ", at.consumed, " consumed");
            for (const std::size_t example : sampler.examples(at, rank, ranks)) {
                const auto [before, is_new] = taken.emplace(example, here);
                if (!is_new) {
                    return {
                        false, text(
                                   "example ", example, " comes twice: to ", before->second,
                                   ", and to ", here
                               )};
                }
            }
        }
        at = next;
    }
    for (std::size_t example = 0; example < run.n; ++example) {
        if (!taken.contains(example)) {
            return {false, text("example ", example, " never comes")};
        }
    }
    return {
        taken.size() == run.n && at == EpochPosition{1, 0},
        "after the epoch: expected epoch 1, 0 consumed, got " + words(at)};
}

/// A step whose shares are written down by hand: places[r] is rank r's, of `count` examples.
struct Known {
    std::size_t n;
    std::size_t batch;
    EpochPosition at;
    std::vector<Chunk> places;
    double count;
    EpochPosition next;
};

void shares(const std::vector<Known>& all) {
    on_one([&] {
        for (const auto& [n, batch, at, places, count, next] : all) {
            const int ranks = static_cast<int>(places.size());
            for (int rank = 0; rank < ranks; ++rank) {
                const Step step{n, batch, at, rank, ranks};
                INFO(words(step));
                const Chunk& mine = places[static_cast<std::size_t>(rank)];
                const ElasticShare expected{mine, static_cast<double>(mine.size()) / count, next};
                REQUIRE(same_share(share_of(step), expected, step));
            }
        }
    });
}

/// The chunk of an order that a rank must have.
Indices slice(const Indices& order, const Chunk& places) {
    Indices part;
    for (std::size_t place = places.begin; place < places.end; ++place) {
        part.push_back(order.at(place));
    }
    return part;
}

/// Compares the examples of a step; `order` is that of its epoch.
Comparison same_examples(const Indices& got, const Indices& order, const Step& step) {
    const Indices expected = slice(order, right_share(step).places);
    return {got == expected, "expected " + text_of(expected) + ", got " + text_of(got)};
}

}  // namespace

TEST_CASE("elastic_sampler cuts a batch of 10 for 4 ranks into 3, 3, 2 and 2 examples") {
    shares({
        {100, 10, {0, 0}, {{0, 3}, {3, 6}, {6, 8}, {8, 10}}, 10, {0, 10}},
        {100, 10, {0, 10}, {{10, 14}, {14, 17}, {17, 20}}, 10, {0, 20}},
        {100, 10, {2, 20}, {{20, 22}, {22, 24}, {24, 26}, {26, 28}, {28, 30}}, 10, {2, 30}},
        {100, 10, {2, 30}, {{30, 40}}, 10, {2, 40}},
    });
}

TEST_CASE("a batch begins at any position, not only where a multiple of its length is") {
    shares({
        {100, 10, {0, 17}, {{17, 20}, {20, 23}, {23, 25}, {25, 27}}, 10, {0, 27}},
        {100, 10, {3, 89}, {{89, 93}, {93, 96}, {96, 99}}, 10, {3, 99}},
        {100, 1, {0, 41}, {{41, 42}}, 1, {0, 42}},
    });
}

TEST_CASE("the last batch has what is left, and behind it the next epoch begins") {
    shares({
        {23, 10, {0, 20}, {{20, 22}, {22, 23}}, 3, {1, 0}},
        {23, 10, {4, 20}, {{20, 21}, {21, 22}, {22, 23}, {23, 23}}, 3, {5, 0}},
        {20, 10, {0, 10}, {{10, 14}, {14, 17}, {17, 20}}, 10, {1, 0}},
        {7, 1000, {0, 0}, {{0, 3}, {3, 5}, {5, 7}}, 7, {1, 0}},
        {1, 1, {0, 0}, {{0, 1}}, 1, {1, 0}},
    });
}

TEST_CASE("more ranks than examples: some have none, with weight 0, and are as far as the others") {
    shares({
        {100, 3, {0, 6}, {{6, 7}, {7, 8}, {8, 9}, {9, 9}, {9, 9}}, 3, {0, 9}},
        {100, 10, {0, 99}, {{99, 100}, {100, 100}, {100, 100}}, 1, {1, 0}},
        {1, 10, {8, 0}, {{0, 1}, {1, 1}}, 1, {9, 0}},
    });
}

TEST_CASE("each position, batch and number of ranks has its share") {
    on_one([] {
        for (const std::size_t n : {1, 2, 7, 10, 31}) {
            for (const std::size_t batch : {1, 3, 8, 10, 64}) {
                for (std::size_t consumed = 0; consumed < n; ++consumed) {
                    for (const int ranks : {1, 2, 3, 4, 5, 11}) {
                        for (int rank = 0; rank < ranks; ++rank) {
                            const Step step{n, batch, {5, consumed}, rank, ranks};
                            INFO(words(step));
                            REQUIRE(same_share(share_of(step), right_share(step), step));
                        }
                    }
                }
            }
        }
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
                const Indices got = sampler.examples(at, step.rank, ranks);
                const Comparison result = same_examples(got, order_of(n, seed, at.epoch), step);
                INFO("it depends on n, seed and epoch alone; " << words(step));
                CHECK(result);
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

TEST_CASE("weighted, the ranks' mean gradients add up to the mean over the whole batch") {
    on_one([] {
        const std::size_t n = 61;
        ElasticSampler sampler(n, 10, 7);
        EpochPosition at;
        for (const int ranks : {4, 4, 3, 5, 2, 11, 4}) {
            const Indices order = order_of(n, 7, at.epoch);
            double sum = 0;
            double weights = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const Indices mine = sampler.examples(at, rank, ranks);
                const double weight = sampler.share(at, rank, ranks).weight;
                weights += weight;
                if (!mine.empty()) {  // the gradient of example e is e
                    const double total = std::accumulate(mine.begin(), mine.end(), 0.0);
                    sum += weight * (total / static_cast<double>(mine.size()));
                }
            }
            const Step step{n, 10, at, 0, ranks};
            const std::size_t count = count_of(step);
            const Indices batch = slice(order, {at.consumed, at.consumed + count});
            const double mean =
                std::accumulate(batch.begin(), batch.end(), 0.0) / static_cast<double>(count);
            const Comparison gradient{
                std::abs(sum - mean) <= 1e-10,  // at most 11 roundings of numbers below 61
                text(
                    "expected the gradient ", mean, ", got ", sum, "; the weights add up to ",
                    weights
                )};
            INFO("on " << counted(ranks, "rank") << ", " << words(at));
            REQUIRE(gradient);
            at = right_share(step).next;
        }
    });
}

TEST_CASE("the order is made once an epoch, and share() can do without it") {
    on_ranks({1}, [](const Communicator& comm) {
        const std::size_t n = 100'000;
        ElasticSampler sampler(n, 100, 7);
        (void)sampler.examples({3, 0}, 0, 4);
        const Memory step = memory_of(comm, [&] { (void)sampler.examples({3, 500}, 1, 3); });
        const Comparison kept{
            step.peak_bytes < static_cast<long>(n),
            "a step in the same epoch took " + std::to_string(step.peak_bytes) +
                " bytes for 33 examples: as if the order were made anew in each step"};
        CHECK(kept);
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
        const Comparison quick = takes_a_few_operations("ranks, batch or n", [&] {
            (void)sampler.share({0, 5}, kRanks - 1, kRanks);
        });
        REQUIRE(quick);
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
        refused(11, 0, 3);
        refused(0, 3, 3);
        refused(0, -1, 3);
        refused(0, 0, 0);
        refused(0, -2, -1);
        INFO("the last example, on the last of 5 ranks");
        CHECK_NOTHROW(sampler.share({0, 9}, 4, 5));
    });
}
