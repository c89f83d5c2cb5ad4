// What the bench concludes from its times: on times that are made up.
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "course/algorithms/units.hpp"
#include "course/lab/verdict.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

namespace {

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

TEST_CASE("where nothing is decided, what is likely is said, marked as no verdict") {
    Measured measured = measured_with({{1U << 20U, Lead::undecided}, {4U << 20U, Lead::ahead}});
    for (Point& point : measured.points) {
        point.rounds_vs_naive = Interval{1.6, 1.25, 2.0};
        point.others = 0.3;
    }
    CHECK(
        likely_in_words(measured) ==
        std::vector<std::string>{
            "no verdict at 1 MiB, but likely the ring is faster: ring took 0.62 of naive's time, "
            "0.50 to "
            "0.80 in half of the rounds; other programs took 30 % of the cores",
            "for a verdict run it again when the other programs rest"}
    );
    CHECK(contains(to_table(measured), "# no verdict at 1 MiB, but likely"));
    CHECK(contains(to_short_table({measured}), "\nno verdict at 1 MiB, but likely"));
    for (Point& point : measured.points) {
        point.rounds_vs_naive = Interval{0.98, 0.9, 1.1};
        point.others = 0;
    }
    const std::vector<std::string> alike = likely_in_words(measured);
    REQUIRE(alike.size() == 1);
    CHECK(contains(alike[0], "likely they are alike"));
}

TEST_CASE("the short table fits into 80 columns") {
    const std::string table =
        to_short_table({measured_with({{1024, Lead::behind}, {1U << 20U, Lead::ahead}})});
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= 80);
    }
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
        "naive and ring are within 2 % at every size measured"
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

TEST_CASE("where ranks share cores a lead is more than ten percent, and nothing is level") {
    Measured measured = measured_with({{1024, Lead::ahead}, {4096, Lead::ahead}});
    const auto set_ratios = [&](const Interval& ratio) {
        for (Point& point : measured.points) {
            if (point.algorithm == "ring") {
                point.vs_naive = ratio;
            }
        }
    };
    measured.machine.ranks_per_node = 4;
    for (const int cores : {4, 2}) {
        measured.machine.cores = cores;
        INFO(cores);
        const bool shared = cores == 2;
        const std::string everywhere = " at every size measured";
        set_ratios({1.07, 1.05, 1.09});
        CHECK(said_of(measured) == (shared ? "undecided" : "ring is faster") + everywhere);
        set_ratios({0.93, 0.92, 0.94});
        CHECK(said_of(measured) == (shared ? "undecided" : "naive is faster") + everywhere);
        set_ratios({1.0, 0.99, 1.01});
        CHECK(
            said_of(measured) ==
            (shared ? "undecided" : "naive and ring are within 2 %") + everywhere
        );
        set_ratios({1.015, 1.01, 1.025});  // in the gap: another run may find 1.035
        CHECK(said_of(measured) == "undecided" + everywhere);
        set_ratios({1.12, 1.05, 1.15});
        CHECK(said_of(measured) == (shared ? "undecided" : "ring is faster") + everywhere);
        set_ratios({1.2, 1.11, 1.3});
        CHECK(said_of(measured) == "ring is faster" + everywhere);
        CHECK(contains(
            to_table(measured), shared ? "? undecided: less than 10 %, or" : "= within 2 %;"
        ));
        const auto document = nlohmann::json::parse(to_json({measured}));
        CHECK(document["verdict"]["standings"][0]["lead_beyond"] == (shared ? 1.1 : 1.03));
        CHECK(document["verdict"]["standings"][0]["level_within"] == (shared ? 1.0 : 1.02));
    }
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
