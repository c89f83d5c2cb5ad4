#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "course/lab/crossover.hpp"
#include "course/lab/measured.hpp"
#include "course/lab/picture.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

TEST_CASE("the picture has a colour and a mark for each algorithm, in both panels") {
    Measured measured = example();
    measured.algorithms = find_algorithms(measured.collective, {});
    measured.points.clear();
    for (const Algorithm& algorithm : measured.algorithms) {
        measured.points.push_back(point(std::string(algorithm.name), 65536, 1e-3));
    }
    const std::string script = gnuplot_script({measured});
    std::set<std::string> colours;
    std::set<std::string> marks;
    const std::regex named(
        "set label '([a-z_]+)' at graph [^\n]* point pt ([0-9]+) ps [0-9.]+ lc rgb "
        "'(#[0-9A-F]{6})'"
    );
    std::map<std::string, int> drawn;
    for (std::sregex_iterator i(script.begin(), script.end(), named); i != std::sregex_iterator();
         ++i) {
        marks.insert((*i)[2]);
        colours.insert((*i)[3]);
        ++drawn[(*i)[1]];
    }
    CHECK(colours.size() == measured.algorithms.size());
    CHECK(marks.size() == measured.algorithms.size());
    for (const Algorithm& algorithm : measured.algorithms) {
        INFO(algorithm.name);
        CHECK(drawn[std::string(algorithm.name)] == 2);
    }
    CHECK(script.find("'64 KiB' 65536") != std::string::npos);
}

TEST_CASE("without naive the picture has ratios to MPI's own, without either no such panel") {
    Measured measured = example();
    CHECK(gnuplot_script({measured}).find("'times as fast as naive'") != std::string::npos);
    std::erase_if(measured.points, [](const Point& p) { return p.algorithm == "naive"; });
    std::erase_if(measured.algorithms, [](const Algorithm& a) { return a.name == "naive"; });
    const std::string beside_mpi = gnuplot_script({measured});
    CHECK(beside_mpi.find("naive") == std::string::npos);
    CHECK(beside_mpi.find("'times as fast as MPI''s own'") != std::string::npos);
    std::erase_if(measured.points, [](const Point& p) { return p.algorithm == "mpi"; });
    std::erase_if(measured.algorithms, [](const Algorithm& a) { return a.name == "mpi"; });
    CHECK(gnuplot_script({measured}).find("times as fast") == std::string::npos);
}

namespace {

/// On 2 ranks naive takes half of ring's time, on 8 twice as long: level at 4.
std::vector<Measured> over_ranks() {
    std::vector<Measured> measurements;
    for (const int ranks : {2, 8}) {
        Measured measured = example();
        measured.machine.ranks = ranks;
        measured.machine.ranks_per_node = ranks;
        measured.machine.cores = 2;
        measured.bound.p = ranks;
        for (Point& one : measured.points) {
            one.median_s = one.algorithm == "ring" ? 1.0 : ranks == 2 ? 0.5 : 2.0;
            one.p95_s = one.median_s * 1.2;
        }
        measurements.push_back(measured);
    }
    return measurements;
}

}  // namespace

TEST_CASE("over several numbers of ranks a report says from which one on the ring is faster") {
    const std::vector<Measured> measurements = over_ranks();
    const auto at = crossover_of(measurements, 1024, "naive", "ring");
    REQUIRE(at.has_value());
    CHECK(at->x == Approx(4));
    CHECK(at->low < 3.9);
    CHECK(at->low > 3);
    CHECK(at->high > 4.1);
    CHECK(at->high < 5);
    const std::string text = crossover_in_words(measurements, 1048576, "naive", "ring");
    INFO(text);
    CHECK(text.starts_with("ring passes naive at 4 ranks (from 3."));
    CHECK(text.ends_with("by the spread of the times; measured at 2 ranks and 8 ranks)"));
    const std::string table = to_table(measurements);
    CHECK(table.find("#      1 MiB " + text + "\n") != std::string::npos);
    CHECK(table.find("# 8 ranks share 2 cores, so times also show") != std::string::npos);
    const auto document = nlohmann::json::parse(to_json(measurements));
    CHECK(document["ranks"] == nlohmann::json::array({2, 8}));
    CHECK(document["runs"][1]["points"].size() == 6);
    CHECK(document["notes"][0].get<std::string>().starts_with("8 ranks share 2 cores"));
    REQUIRE(document["ring_passes_naive_ranks"].size() == 2);
    CHECK(document["ring_passes_naive_ranks"][1]["size_bytes"] == 1048576);
    CHECK(document["ring_passes_naive_ranks"][1]["crossover"]["at"].get<double>() == Approx(4));
    CHECK(document["ring_passes_naive_ranks"][1]["in_words"] == text);
    CHECK(lines_of(to_csv(measurements)).size() == 13);
    CHECK(lines_of(to_csv(measurements)).back().ends_with(",8"));
}

TEST_CASE("who is faster on any number of ranks passes nobody; one rank counts for nothing") {
    std::vector<Measured> measurements = over_ranks();
    for (Point& one : measurements.front().points) {
        one.median_s = one.algorithm == "ring" ? 1.0 : 2.0;
    }
    CHECK(
        crossover_in_words(measurements, 1024, "naive", "ring") ==
        "ring is faster at every number of ranks measured"
    );
    measurements.front().machine.ranks = 1;
    CHECK(crossover_in_words(measurements, 1024, "naive", "ring").empty());
}

TEST_CASE(
    "the picture over ranks has a tick for each number, at the largest size, and shades where the "
    "ring passes"
) {
    const std::string script = gnuplot_script(over_ranks());
    CHECK(
        script.find("'1 MiB all_reduce of float32, over the number of ranks: ") != std::string::npos
    );
    CHECK(script.find("'2 ranks' 2, '8 ranks' 8") != std::string::npos);
    CHECK(script.find("set label 'ring passes naive' at 4,graph") != std::string::npos);
    CHECK(script.find("set object rectangle from 3.") != std::string::npos);
}
