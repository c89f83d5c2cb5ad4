// distributed_sampler: an order for each epoch, fair and the same on all ranks, dealt out like cards.
#include "exercises/05_data_parallel/distributed_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/05_data_parallel/deal.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Options = DistributedSampler::Options;

/// Whether this rank has `expected`; `order` is that of the epoch.
void check_part(const Deal& deal, const Indices& expected, const Indices& order, int rank) {
    const DistributedSampler sampler = sampler_of(deal, rank);
    const Comparison result = same_part(sampler.indices(), expected, order, deal, rank);
    INFO(text_of(deal));
    CHECK(result);
    INFO("size() says how many indices() has");
    CHECK(sampler.size() == expected.size());
}

/// An epoch whose parts are written down by hand: parts[r] is rank r's.
struct Known {
    Deal deal;
    std::vector<Indices> parts;
};

void deals(const std::vector<Known>& all) {
    on_ranks({all.front().deal.p}, [&](const Communicator& comm) {
        for (const auto& [deal, parts] : all) {
            Indices order(deal.n);
            std::iota(order.begin(), order.end(), 0);
            check_part(deal, parts.at(static_cast<std::size_t>(comm.rank())), order, comm.rank());
        }
    });
}

constexpr Options kPadded{.shuffle = false};
constexpr Options kDropped{.shuffle = false, .drop_last = true};

/// Whether all orders of four examples come about equally often: within six standard deviations.
Comparison fair(const std::map<Indices, int>& times, int epochs) {
    const double mean = epochs / 24.0;
    Indices order = {0, 1, 2, 3};
    do {
        const auto found = times.find(order);
        const int count = found == times.end() ? 0 : found->second;
        if (std::abs(count - mean) > 6 * std::sqrt(mean)) {
            std::ostringstream text;
            text << "order " << text_of(order) << " comes " << count << " times in " << epochs
                 << " epochs, where " << mean << " would be fair: ";
            if (times.size() < 24) {
                text << "only " << times.size() << " of 24 orders ever come";
            } else {
                text << "as if a place were swapped with any of the 4, which makes a power of 4 of "
                        "ways, no multiple of 24: swap place i with one of 0 to i";
            }
            return {false, text.str()};
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return {};
}

}  // namespace

TEST_CASE("distributed_sampler deals 10 examples to 3 ranks: 0 3 6 9, 1 4 7 0 and 2 5 8 1") {
    deals({
        {{10, 3, kPadded}, {{0, 3, 6, 9}, {1, 4, 7, 0}, {2, 5, 8, 1}}},
        {{10, 3, kDropped}, {{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}},
        {{6, 3, kPadded}, {{0, 3}, {1, 4}, {2, 5}}},
        {{6, 3, kDropped}, {{0, 3}, {1, 4}, {2, 5}}},
        {{11, 3, kPadded, 5}, {{0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 0}}},
    });
}

TEST_CASE("distributed_sampler goes on with the beginning as often as it takes, or drops all") {
    deals({
        {{2, 5, kPadded}, {{0}, {1}, {0}, {1}, {0}}},
        {{2, 5, kDropped}, {{}, {}, {}, {}, {}}},
        {{7, 5, kPadded}, {{0, 5}, {1, 6}, {2, 0}, {3, 1}, {4, 2}}},
        {{2, 5, {.shuffle = false, .batch = 2}}, {{0, 1}, {1, 0}, {0, 1}, {1, 0}, {0, 1}}},
        {{1, 5, {.shuffle = false, .batch = 4}},
         {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}},
    });
}

TEST_CASE("distributed_sampler with a batch deals full batches only, one example at a time") {
    deals({
        {{9, 2, {.shuffle = false, .batch = 3}}, {{0, 2, 4, 6, 8, 1}, {1, 3, 5, 7, 0, 2}}},
        {{9, 2, {.shuffle = false, .drop_last = true, .batch = 3}}, {{0, 2, 4}, {1, 3, 5}}},
        {{3, 2, {.shuffle = false, .batch = 4}}, {{0, 2, 1, 0}, {1, 0, 2, 1}}},
        {{3, 2, {.shuffle = false, .drop_last = true, .batch = 4}}, {{}, {}}},
        {{8, 2, {.shuffle = false, .batch = 4}}, {{0, 2, 4, 6}, {1, 3, 5, 7}}},
    });
}

TEST_CASE("distributed_sampler deals every example to one rank, and none to two") {
    on_ranks({1}, [](const Communicator&) {
        for (const int p : {1, 3, 2, 4, 5, 11}) {
            for (const std::size_t batch : {1, 2, 5}) {
                const std::size_t n = static_cast<std::size_t>(p) * batch * 4;
                for (const Deal& deal :
                     {Deal{n, p, {.batch = batch}}, Deal{n, p, {.seed = 9, .batch = batch}, 7},
                      Deal{n + 1, p, {.drop_last = true, .batch = batch}, 1}}) {
                    INFO(text_of(deal));
                    const Comparison result = dealt_once(deal);
                    REQUIRE(result);
                }
            }
        }
    });
}

TEST_CASE("distributed_sampler has one order, on all ranks and for any number of them") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const Indices shuffled = order_of(100, 3, 2);
        const Comparison bits =
            same_on_all_ranks(std::vector<float>(shuffled.begin(), shuffled.end()), comm);
        {
            INFO("the order depends on seed and epoch alone: no process has one of its own");
            REQUIRE(bits);
        }
        for (const std::size_t n : {10, 1, 7, 60, 61}) {
            const Indices order = order_of(n, 3, 2);
            REQUIRE(order.size() == n);
            INFO("the order is what one rank alone has, with batch 1: " << text_of(order));
            for (const std::size_t batch : {1, 4}) {
                for (const bool drop : {false, true}) {
                    const Options options{.seed = 3, .drop_last = drop, .batch = batch};
                    const Deal deal{n, comm.size(), options, 2};
                    const Indices part = part_of(order, deal, comm.rank());
                    check_part(deal, part, order, comm.rank());
                }
            }
        }
    });
}

TEST_CASE("distributed_sampler has a new order in every epoch, and for every seed") {
    on_ranks({1}, [](const Communicator&) {
        INFO("what the shuffle starts from must change with seed and epoch, also where one is 0");
        for (const std::uint64_t a : {0, 1, 2, 3}) {
            for (const std::uint64_t b : {a + 1, a + 2}) {
                for (const std::uint64_t same : {7, 0}) {
                    const std::string both = std::to_string(a) + " and " + std::to_string(b);
                    const Comparison epochs{
                        order_of(1000, same, a) != order_of(1000, same, b),
                        "epochs " + both + " of seed " + std::to_string(same) +
                            " are in the same order"};
                    REQUIRE(epochs);
                    const Comparison seeds{
                        order_of(1000, a, same) != order_of(1000, b, same),
                        "seeds " + both + " have the same order in epoch " + std::to_string(same)};
                    REQUIRE(seeds);
                }
            }
        }
    });
}

TEST_CASE("seeds and epochs may be any numbers of 64 bits") {
    on_ranks({1}, [](const Communicator&) {
        const std::uint64_t limits[] = {
            1U << 8U,
            1U << 16U,
            1U << 31U,
            std::uint64_t{1} << 32U,
            std::uint64_t{1} << 53U,
            std::uint64_t{1} << 63U};
        for (const std::uint64_t limit : limits) {
            for (const std::uint64_t number : {limit, limit + 1}) {
                const std::string text = std::to_string(number);
                const std::uint64_t last = number - limit;
                INFO("as if a part of the number's bits were lost");
                const Comparison epochs{
                    order_of(1000, 7, number) != order_of(1000, 7, last) &&
                        order_of(1000, 7, number) != order_of(1000, 7, number - 1),
                    "epoch " + text + " is in the order of a smaller one"};
                REQUIRE(epochs);
                const Comparison seeds{
                    order_of(1000, number, 7) != order_of(1000, last, 7) &&
                        order_of(1000, number, 7) != order_of(1000, number - 1, 7),
                    "seed " + text + " has the order of a smaller one"};
                REQUIRE(seeds);
            }
        }
    });
}

TEST_CASE("samplers that are used in turn know nothing of each other") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector<Deal> deals = {
            {12, 1, {.seed = 7}},    {12, 1, {.shuffle = false, .seed = 7}},
            {12, 1, {.seed = 8}},    {13, 1, {.seed = 7}},
            {12, 1, {.seed = 7}, 1}, {12, 3, {.seed = 7, .drop_last = true, .batch = 3}}};
        std::vector<DistributedSampler> samplers;
        std::vector<Indices> first;
        for (const Deal& deal : deals) {
            samplers.push_back(sampler_of(deal, 0));
            first.push_back(samplers.back().indices());
        }
        for (std::size_t a = 0; a < deals.size(); ++a) {
            for (std::size_t b = 0; b < deals.size(); ++b) {
                (void)samplers[b].indices();
                INFO(text_of(deals[a]) << ", asked after: " << text_of(deals[b]));
                CHECK(samplers[a].indices() == first[a]);
            }
        }
        Indices in_order(12);
        std::iota(in_order.begin(), in_order.end(), 0);
        INFO("not shuffled, after another one of the same n, seed and epoch that is");
        CHECK(first[1] == in_order);
        CHECK(first[0] != in_order);
    });
}

TEST_CASE("distributed_sampler gives the same part for the same epoch, whenever it is asked") {
    on_ranks({1}, [](const Communicator&) {
        DistributedSampler sampler(12, 1, 3, {.seed = 7});
        const Indices epoch_0 = sampler.indices();
        {
            INFO("asked twice, without set_epoch in between");
            CHECK(sampler.indices() == epoch_0);
        }
        sampler.set_epoch(4);
        const Indices epoch_4 = sampler.indices();
        {
            INFO("another sampler, of another rank, in another epoch in between");
            (void)sampler_of({12, 3, {.seed = 7}, 2}, 0).indices();
            CHECK(sampler.indices() == epoch_4);
        }
        {
            INFO(
                "back to epoch 0, where every sampler begins: set_epoch says which one, not how "
                "many on"
            );
            sampler.set_epoch(0);
            CHECK(sampler.indices() == epoch_0);
        }
        INFO("epoch 4 right from the beginning, as after a restart");
        CHECK(sampler_of({12, 3, {.seed = 7}, 4}, 1).indices() == epoch_4);
    });
}

TEST_CASE("distributed_sampler shuffles fairly: all 24 orders of 4 examples come equally often") {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kEpochs = 24'000;
        std::map<Indices, int> times;
        for (int epoch = 0; epoch < kEpochs; ++epoch) {
            ++times[order_of(4, 1, static_cast<std::uint64_t>(epoch))];
        }
        const Comparison result = fair(times, kEpochs);
        CHECK(result);
    });
}

TEST_CASE("distributed_sampler shuffles a large set as a whole, in a time that grows with n") {
    on_ranks({1}, [](const Communicator&) {
        Indices order;
        for (const std::size_t n : {20'000, 150'000}) {
            const std::clock_t begin = std::clock();
            order = order_of(n, 0, 0);
            const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            const Comparison quick{
                cpu_s < 0.25,  // fifty times what it takes
                std::to_string(n) + " examples took " + std::to_string(cpu_s) +
                    " s: as if each draw moved or searched all others"};
            REQUIRE(quick);
            REQUIRE(order.size() == n);
        }
        const Comparison once = dealt_once({150'000, 1});
        CHECK(once);
        const double mean = std::accumulate(order.begin(), order.begin() + 10'000, 0.0) / 10'000;
        const Comparison mixed{
            std::abs(mean - 75'000) < 5'000,  // more than ten standard deviations
            "the first 10000 of 0 to 149999 have the mean " + std::to_string(mean) +
                ": as if the order were shuffled piece by piece"};
        CHECK(mixed);
    });
}

TEST_CASE("size() is a division: no memory, and no loop over n") {
    on_ranks({1}, [](const Communicator& comm) {
        const auto size = [](const Deal& deal) { return sampler_of(deal, 2).size(); };
        const Memory memory = memory_of(comm, [&] { (void)size({1000, 3}); });
        {
            INFO("size() allocates memory, as indices() does: it can do without the order");
            REQUIRE(memory.allocations == 0);
        }
        const auto check = [&](const Deal& deal, std::size_t expected) {
            INFO(text_of(deal) << ": " << expected << " for each rank");
            CHECK(size(deal) == expected);
        };
        constexpr std::size_t kN = 3'000'000'000'001;
        check({kN, 3}, 1'000'000'000'001);
        check({kN, 3, {.drop_last = true}}, 1'000'000'000'000);
        check({kN, 3, {.batch = 1000}}, 1'000'000'001'000);
        check({kN, 3, {.drop_last = true, .batch = 1000}}, 1'000'000'000'000);
        constexpr std::size_t kOdd = (std::size_t{1} << 53U) + 1;  // no double has that value
        INFO("a double holds whole numbers up to 2^53, and an int up to 2^31 - 1");
        CHECK(DistributedSampler(kOdd, 0, 1, {}).size() == kOdd);
        CHECK(DistributedSampler(kOdd, 0, 1, {.drop_last = true}).size() == kOdd);
        const std::size_t batch = std::size_t{1} << 32U;
        check({3 * batch + 1, 3, {.batch = batch}}, 2 * batch);
        check({3 * batch + 1, 3, {.drop_last = true, .batch = batch}}, batch);
        check({batch, 3, {.batch = batch / 2 + 1}}, batch / 2 + 1);
    });
}

TEST_CASE("distributed_sampler refuses no examples, no batch, and a rank that does not exist") {
    on_ranks({1}, [](const Communicator&) {
        const auto make = [](std::size_t n, int rank, int ranks, std::size_t batch) {
            const DistributedSampler sampler(n, rank, ranks, {.batch = batch});
        };
        INFO("make(n, rank, ranks, batch)");
        CHECK_THROWS_AS(make(0, 0, 3, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, 3, 3, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, 4, 3, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, -1, 3, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, 0, 0, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, -2, -1, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(10, 0, 3, 0), std::invalid_argument);
        CHECK_NOTHROW(make(1, 4, 5, 9));
    });
}
