// What blocks of time say: on times that are made up.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "course/lab/blocks.hpp"
#include "course/lab/statistics.hpp"
#include "course/lab/step_cli.hpp"
#include "course/lab/verdict.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::lab;

namespace {

/// A machine whose times have a long tail, and which somebody else uses now and then.
class Computer {
  public:
    explicit Computer(unsigned seed) : random_(seed) {}

    /// Blocks of 5 rounds; the i-th algorithm takes median_s[i].
    std::vector<Block> measure(
        std::size_t blocks, const std::vector<double>& median_s, double busy = 0.0
    ) {
        std::vector<Block> all;
        for (std::size_t i = 0; i < blocks; ++i) {
            const bool disturbed = std::bernoulli_distribution(busy)(random_);
            Block block{{}, disturbed ? 0.4 : 0.01};
            for (int round = 0; round < 5; ++round) {
                std::vector<Timing> calls;
                for (const double one : median_s) {
                    const double seconds = one * noise_(random_) * (disturbed ? 2.0 : 1.0);
                    calls.push_back({seconds, seconds, seconds, false});
                }
                block.rounds.push_back(calls);
            }
            all.push_back(block);
        }
        return all;
    }

  private:
    std::mt19937 random_;
    std::lognormal_distribution<double> noise_{0.0, 0.03};
};

}  // namespace

TEST_CASE("the interval of a median is that of the sign test") {
    std::vector<double> values;
    for (int i = 1; i <= 7; ++i) {
        values.push_back(i);
    }
    CHECK_FALSE(median_interval(values, 0.99).has_value());
    CHECK(median_interval(values, 0.95).value().low == 1);  // 2 / 2^7 = 1.6 %
    values.push_back(8);
    CHECK(median_interval(values, 0.99).value().high == 8);  // 2 / 2^8 = 0.8 %
    CHECK(median_interval(values, 0.99).value().value == 4.5);
    for (int i = 9; i <= 20; ++i) {
        values.push_back(i);
    }
    CHECK(
        median_interval(values, 0.99).value().low == 4
    );  // the tables have 4 and 17 for 20 values
    CHECK(median_interval(values, 0.99).value().high == 17);
    CHECK_FALSE(median_interval({}, 0.99).has_value());
}

TEST_CASE("the interval holds the true median as often as it says, however long the tail is") {
    std::mt19937 random(1);
    std::lognormal_distribution<double> times(0.0, 1.0);
    int held = 0;
    for (int i = 0; i < 10000; ++i) {
        std::vector<double> values(20);
        std::ranges::generate(values, [&] { return times(random); });
        const Interval interval = *median_interval(values, 0.99);
        held += interval.low <= 1.0 && 1.0 <= interval.high ? 1 : 0;
    }
    CHECK(held > 9900);
    CHECK(held < 10000);
}

TEST_CASE("what is disturbed does not count: calls, and blocks in which others had the cores") {
    std::vector<Block> blocks = Computer(1).measure(10, {1.0, 2.0});
    const std::vector<double> before = block_medians(blocks, 0);
    REQUIRE(before.size() == 10);
    Block busy = blocks.front();
    busy.others = 0.06;
    busy.rounds.front().front().max_s = 100;
    blocks.push_back(busy);
    blocks.front().rounds.push_back({{100, 100, 100, true}, {1, 1, 1, false}});
    CHECK(block_medians(blocks, 0) == before);
    const double ratio = ratio_of(blocks, 0, 1).value;
    for (Block& block : blocks) {
        block.rounds.insert(block.rounds.end(), 20, {{100, 100, 100, true}, {1, 1, 1, false}});
    }
    CHECK(ratio_of(blocks, 0, 1).value == ratio);
    for (std::vector<Timing>& round : blocks.front().rounds) {
        round.front().disturbed = true;
    }
    CHECK(block_medians(blocks, 0).size() == 9);
}

TEST_CASE("a machine that slows down slows both calls of a round: their ratio stays") {
    std::vector<Block> blocks = Computer(2).measure(20, {3.0, 2.0});
    for (std::size_t i = 10; i < 20; ++i) {
        for (std::vector<Timing>& round : blocks[i].rounds) {
            for (Timing& call : round) {
                call.max_s *= 3;
            }
        }
    }
    const Interval ratio = ratio_of(blocks, 0, 1);
    CHECK(ratio.value == Approx(1.5).epsilon(0.03));
    CHECK(ratio.high / ratio.low < 1.06);
    std::vector<double> by_block;
    for (const Block& block : blocks) {
        std::vector<double> here;
        for (const std::vector<Timing>& round : block.rounds) {
            here.push_back(round[0].max_s / round[1].max_s);
        }
        by_block.push_back(median(here));
    }
    CHECK(ratio.low == median_interval(by_block, 0.99).value().low);
    CHECK(ratio.high == median_interval(by_block, 0.99).value().high);
    CHECK(why_unsettled(blocks, 0).find("above the value shown") != std::string::npos);
}

TEST_CASE(
    "times have settled when there are enough, near to each other, at the end as at the beginning"
) {
    Computer machine(3);
    CHECK(why_unsettled(machine.measure(8, {1.0}), 0).empty());
    CHECK(
        why_unsettled(machine.measure(7, {1.0}), 0) ==
        "7 of 7 blocks of time had an undisturbed call"
    );
    std::vector<Block> busy = machine.measure(7, {1.0});
    for (const Block& block : machine.measure(20, {1.0}, 1.0)) {
        busy.push_back(block);
    }
    CHECK(
        why_unsettled(busy, 0) ==
        "7 of 27 blocks of time were quiet; in the others, other work took 40 % of the cores"
    );
    std::vector<Block> rising = machine.measure(30, {1.0});
    for (std::size_t i = 0; i < 30; ++i) {
        for (std::vector<Timing>& round : rising[i].rounds) {
            round[0].max_s *= 1 + 0.006 * static_cast<double>(i);
        }
    }
    CHECK(why_unsettled(rising, 0).starts_with("times rose by 1"));
}

TEST_CASE("two that were never undisturbed in one round have not settled: no ratio follows") {
    std::vector<Block> blocks = Computer(5).measure(16, {1.0, 2.0});
    CHECK(all_settled(blocks));
    const std::size_t both = GENERATE(7, 8);  // blocks with a round where neither was disturbed
    for (std::size_t i = both; i < blocks.size(); ++i) {
        for (std::size_t round = 0; round < 5; ++round) {
            blocks[i].rounds[round][round % 2].disturbed = true;
        }
    }
    CHECK(why_unsettled(blocks, 0).empty());
    CHECK(why_unsettled(blocks, 1).empty());
    CHECK(std::isinf(ratio_of(blocks, 1, 0).high) == (both == 7));
    CHECK(all_settled(blocks) == (both == 8));
    CHECK_FALSE(all_settled({}));
}

TEST_CASE("where ranks share cores, a way that is 5 % slower is undecided, and none is level") {
    Computer machine(1);
    const std::vector<Block> blocks = machine.measure(60, {1.0, 1.0, 1.05, 1.5}, 0);
    CHECK(ratio_text(blocks, 1, 0, false).back() == '=');
    CHECK(ratio_text(blocks, 1, 0, true).back() == '?');
    CHECK(ratio_text(blocks, 2, 0, false).back() == ' ');
    CHECK(ratio_text(blocks, 2, 0, true).back() == '?');
    CHECK(ratio_text(blocks, 3, 0, true).back() == ' ');
    CHECK(ratio_text(blocks, 0, 0, true) == "1.00 ");
}

TEST_CASE(
    "an algorithm made 5 or 20 % slower is slower or undecided, never faster; the same one never "
    "differs"
) {
    int slower = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Computer machine(seed);
        const double busy = seed % 2 == 0 ? 0.0 : 0.4;
        const std::vector<Block> blocks = machine.measure(60, {1.0, 1.0, 1.05, 1.2}, busy);
        INFO(seed);
        const Lead same = lead_of(ratio_of(blocks, 0, 1));
        CHECK(same != Lead::ahead);
        CHECK(same != Lead::behind);
        CHECK(lead_of(ratio_of(blocks, 0, 2)) != Lead::ahead);
        CHECK(lead_of(ratio_of(blocks, 0, 2)) != Lead::level);
        slower += lead_of(ratio_of(blocks, 0, 2)) == Lead::behind ? 1 : 0;
        CHECK(lead_of(ratio_of(blocks, 0, 3)) == Lead::behind);
        CHECK(lead_of(ratio_of(blocks, 3, 0)) == Lead::ahead);
    }
    CHECK(slower > 150);
}

TEST_CASE("without enough quiet blocks a ratio is told, and nothing follows from it") {
    const std::vector<Block> blocks = Computer(4).measure(20, {2.0, 1.0}, 1.0);
    const Interval ratio = ratio_of(blocks, 0, 1);
    CHECK(ratio.value == Approx(2).epsilon(0.1));
    CHECK(ratio.low == 0);
    CHECK(std::isinf(ratio.high));
    CHECK(lead_of(ratio) == Lead::undecided);
}
