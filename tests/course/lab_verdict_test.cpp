// What the bench concludes from its times: on times that are made up.
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "course/algorithms/units.hpp"
#include "course/lab/blocks.hpp"
#include "course/lab/statistics.hpp"
#include "course/lab/verdict.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
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

/// Naive and ring at these sizes, where ring's lead is as given; every algorithm has settled.
Measured measured_with(const std::vector<std::pair<std::size_t, Lead>>& leads) {
    Measured measured = example();
    measured.points.clear();
    for (const auto& [size, lead] : leads) {
        const Interval ratio = lead == Lead::ahead    ? Interval{1.5, 1.4, 1.6}
                               : lead == Lead::behind ? Interval{0.7, 0.6, 0.8}
                               : lead == Lead::level  ? Interval{1.0, 0.99, 1.01}
                                                      : Interval{1.02, 0.9, 1.1};
        measured.points.push_back(point("naive", size, ratio.value));
        measured.points.back().vs_naive = Interval{1, 1, 1};
        measured.points.push_back(point("ring", size, 1.0));
        measured.points.back().vs_naive = ratio;
    }
    return measured;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string said_of(const Measured& measured) {
    return sizes_in_words(verdict_over_sizes(measured, "naive", "ring"));
}

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
    CHECK(contains(why_unsettled(blocks, 0), "above the value shown"));
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

TEST_CASE(
    "sentences: who passes whom, or who is faster where; then what is level, and what is undecided"
) {
    using enum Lead;
    CHECK(
        said_of(measured_with({{1024, ahead}, {4096, ahead}})) ==
        "ring is faster at every size measured"
    );
    CHECK(
        said_of(measured_with({{1024, behind}, {4096, behind}})) ==
        "naive is faster at every size measured"
    );
    CHECK(
        said_of(measured_with({{1024, undecided}, {4096, undecided}})) ==
        "undecided at every size measured"
    );
    CHECK(
        said_of(measured_with({{1024, level}, {4096, level}})) ==
        "naive and ring are within 3 % at every size measured"
    );
    CHECK(
        said_of(measured_with({{1024, behind}, {4096, ahead}})) ==
        "ring passes naive between 1 KiB and 4 KiB"
    );
    CHECK(
        said_of(measured_with(
            {{1024, behind}, {2048, undecided}, {4096, level}, {8192, ahead}, {16384, undecided}}
        )) == "ring passes naive between 1 KiB and 8 KiB; undecided at 16 KiB"
    );
    CHECK(
        said_of(measured_with({{1024, ahead}, {4096, behind}, {8192, ahead}})) ==
        "naive passes ring between 1 KiB and 4 KiB; ring passes naive between 4 KiB and 8 KiB"
    );
    CHECK(
        said_of(measured_with({{1024, ahead}, {4096, undecided}, {8192, ahead}})) ==
        "ring is faster at 1 KiB, 8 KiB; undecided at 4 KiB"
    );
    Measured measured = measured_with({{1024, ahead}});
    std::erase_if(measured.points, [](const Point& one) { return one.algorithm == "ring"; });
    CHECK(said_of(measured).empty());
}

TEST_CASE("what has not settled takes part in no verdict, and is marked") {
    for (const std::size_t which : {0U, 1U}) {
        Measured measured = measured_with({{1024, Lead::ahead}});
        measured.points[which].unsettled = "times rose by 12 % meanwhile";
        CHECK(said_of(measured) == "undecided at every size measured");
        const std::string table = to_table(measured);
        CHECK(contains(
            table,
            "# 1 KiB, not settled: " + measured.points[which].algorithm + ": times rose by 12 %"
        ));
        CHECK(contains(lines_of(to_csv({measured}))[1 + which], ",9,10,no,"));
        const auto document = nlohmann::json::parse(to_json({measured}));
        CHECK(document["points"][which]["unsettled"] == "times rose by 12 % meanwhile");
        CHECK(document["points"][1 - which]["unsettled"].is_null());
    }
}

TEST_CASE("sentence, table and JSON never disagree, whatever the curves are") {
    constexpr Lead kLeads[] = {Lead::behind, Lead::level, Lead::ahead, Lead::undecided};
    constexpr const char* kNames[] = {"behind", "level", "ahead", "undecided"};
    std::mt19937 random(5);
    for (int trial = 0; trial < 500; ++trial) {
        std::vector<std::pair<std::size_t, Lead>> leads;
        const int n = std::uniform_int_distribution<>(1, 8)(random);
        for (int i = 0; i < n; ++i) {
            leads.emplace_back(
                std::size_t{1024} << i, kLeads[std::uniform_int_distribution<>(0, 3)(random)]
            );
        }
        const Measured measured = measured_with(leads);
        const std::string said = said_of(measured);
        const auto document = nlohmann::json::parse(to_json({measured}));
        INFO(said << "\n" << to_table(measured));
        CHECK(document["verdict"]["in_words"] == said);
        CHECK(contains(to_table(measured), "# " + said + "\n"));
        std::vector<std::string> rows;
        for (const std::string& line : lines_of(to_table(measured))) {
            if (contains(line, " ring ") && !line.starts_with('#')) {
                rows.push_back(line);
            }
        }
        REQUIRE(rows.size() == leads.size());
        for (std::size_t i = 0; i < leads.size(); ++i) {
            const auto [size, lead] = leads[i];
            const char* const mark = lead == Lead::ahead    ? " 1.50  "
                                     : lead == Lead::behind ? " 0.70  "
                                     : lead == Lead::level  ? " 1.00= "
                                                            : " 1.02? ";
            CHECK(contains(rows[i], mark));
            CHECK(
                document["verdict"]["standings"][i]["second_is"] == kNames[static_cast<int>(lead)]
            );
        }
        // every crossing stands between a size where one, and the next decided one where the other is faster
        std::size_t crossings = 0;
        std::pair<std::size_t, Lead> before{0, Lead::undecided};
        for (const auto& [size, lead] : leads) {
            if (lead != Lead::ahead && lead != Lead::behind) {
                continue;
            }
            if (before.first != 0 && before.second != lead) {
                ++crossings;
                CHECK(contains(
                    said, fmt::format(
                              "{} between {} and {}",
                              lead == Lead::ahead ? "ring passes naive" : "naive passes ring",
                              in_words(before.first), in_words(size)
                          )
                ));
            }
            before = {size, lead};
        }
        CHECK(document["verdict"]["crossings"].size() == crossings);
        const auto all = [&](Lead lead) {
            return std::ranges::all_of(leads, [&](const auto& one) { return one.second == lead; });
        };
        CHECK(contains(said, "ring is faster at every") == all(Lead::ahead));
        CHECK(contains(said, "naive is faster at every") == all(Lead::behind));
        CHECK(contains(said, "undecided at every") == all(Lead::undecided));
        CHECK(contains(said, " is faster") == (crossings == 0 && before.first != 0));
    }
}

TEST_CASE("sizes between close in on a crossing, wherever it is, and come to an end") {
    std::mt19937 random(6);
    for (int trial = 0; trial < 200; ++trial) {
        const double truth = std::exp2(std::uniform_real_distribution<>(12, 24)(random));
        const double unclear = std::uniform_real_distribution<>(1.0, 1.5)(random);
        std::vector<std::pair<std::size_t, Lead>> leads;
        const auto measure = [&](std::size_t size) {
            const double ratio = static_cast<double>(size) / truth;
            const Lead lead = ratio > unclear       ? Lead::ahead
                              : ratio < 1 / unclear ? Lead::behind
                                                    : Lead::undecided;
            leads.emplace_back(size, lead);
            std::ranges::sort(leads);
        };
        for (const std::size_t size :
             {std::size_t{1} << 10U, std::size_t{1} << 16U, std::size_t{1} << 26U}) {
            measure(size);
        }
        int probes = 0;
        while (const auto next =
                   next_size(verdict_over_sizes(measured_with(leads), "naive", "ring"))) {
            CHECK(*next % sizeof(float) == 0);
            measure(*next);
            REQUIRE(++probes < 20);
        }
        const auto crossings =
            verdict_over_sizes(measured_with(leads), "naive", "ring").crossings();
        INFO(truth << " " << unclear);
        REQUIRE(crossings.size() == 1);
        CHECK(crossings[0].low <= truth);
        CHECK(truth <= crossings[0].high);
        CHECK(crossings[0].high / crossings[0].low < 1.3 * 1.3 * unclear * unclear);
    }
    // between two sizes that are undecided there is nothing to decide
    const auto beside = next_size(verdict_over_sizes(
        measured_with(
            {{1024, Lead::behind},
             {2048, Lead::undecided},
             {1048576, Lead::undecided},
             {2097152, Lead::ahead}}
        ),
        "naive", "ring"
    ));
    REQUIRE(beside.has_value());
    CHECK((*beside < 2048 || *beside > 1048576));
    CHECK_FALSE(next_size(verdict_over_sizes(
        measured_with({{1024, Lead::ahead}, {65536, Lead::ahead}}), "naive", "ring"
    )));
    CHECK_FALSE(next_size(
        verdict_over_sizes(measured_with({{4, Lead::behind}, {8, Lead::ahead}}), "naive", "ring")
    ));
}

TEST_CASE("the bound learns from the fastest calls: no efficiency is above 1") {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> any(0.1, 10.0);
    for (int trial = 0; trial < 100; ++trial) {
        Measured measured = example();
        for (Point& one : measured.points) {
            one.median_s = any(random) * 1e-6 * static_cast<double>(one.size_bytes) / 1e4;
            one.min_s = one.median_s * 0.8;
        }
        for (const Row& row : rows(measured)) {
            CHECK(row.efficiency.value() <= 1.0);
            CHECK(row.bound_s <= row.point.min_s * (1 + 1e-9));
        }
    }
}
