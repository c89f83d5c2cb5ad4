#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

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

TEST_CASE(
    "a ratio is shaded from end to end of its interval; a grey mark says that nothing follows from "
    "it"
) {
    Measured measured = example();
    const std::string before = gnuplot_script({measured});
    CHECK(before.find("with filledcurves") != std::string::npos);
    CHECK(before.find("b0b0b0") == std::string::npos);
    Point& ring = measured.points[4];
    REQUIRE(ring.algorithm == "ring");
    ring.vs_naive = Interval{1.01, 0.9, 1.1};
    CHECK(gnuplot_script({measured}).find(" 1.01 0.9 1.1 1 NaN\n") != std::string::npos);
    CHECK(gnuplot_script({measured}).find("lc rgb '#b0b0b0'") != std::string::npos);
    ring.vs_naive = about(4);
    ring.unsettled = "a reason";
    CHECK(gnuplot_script({measured}).find(" 4 3.8 4.2 1 NaN\n") != std::string::npos);
    ring.vs_naive = Interval{4, 0, std::numeric_limits<double>::infinity()};
    CHECK(gnuplot_script({measured}).find(" 4 4 4 1 NaN\n") != std::string::npos);
}

TEST_CASE("the stretch in which one passes the other is shaded, each with its name") {
    Measured measured = example();
    CHECK(gnuplot_script({measured}).find("passes") == std::string::npos);
    measured.points[1].vs_naive = about(0.5);
    const std::string script = gnuplot_script({measured});
    CHECK(
        script.find("set object rectangle from 1024,graph 0 to 1048576,graph 1") !=
        std::string::npos
    );
    CHECK(script.find("set label 'ring passes naive' at 32768,graph") != std::string::npos);
}

TEST_CASE("over several numbers of ranks the picture has a line for each, over the sizes") {
    std::vector<Measured> measurements{example(), example(), example()};
    for (const std::size_t i : {0U, 1U, 2U}) {
        measurements[i].machine.ranks = std::vector{1, 2, 8}[i];
    }
    const std::string script = gnuplot_script(measurements);
    CHECK(script.find("'ring: times as fast as naive'") != std::string::npos);
    for (const char* const name :
         {"'ring, 2 ranks'", "'ring, 8 ranks'", "'naive, 2 ranks'", "'naive, 8 ranks'"}) {
        CHECK(script.find(name) != std::string::npos);
    }
    CHECK(script.find("1 ranks") == std::string::npos);
    CHECK(script.find("'1 KiB' 1024, '1 MiB' 1048576") != std::string::npos);
}

TEST_CASE("sizes that nobody asked for have no tick, nor have more of them than can be read") {
    Measured measured = example();
    measured.points.insert(measured.points.begin() + 3, point("naive", 16384, 1e-3));
    measured.points[3].between = true;
    CHECK(gnuplot_script({measured}).find("'16 KiB'") == std::string::npos);
    measured.points.clear();
    for (std::size_t size = 1024; size <= 65536; size += 256) {
        measured.points.push_back(point("naive", size, 1e-3));
    }
    const std::string script = gnuplot_script({measured});
    const std::string ticks = script.substr(
        script.rfind("set xtics"),
        script.find('\n', script.rfind("set xtics")) - script.rfind("set xtics")
    );
    const auto n = std::count(ticks.begin(), ticks.end(), ',');
    CHECK(n > 15);
    CHECK(n < 25);
}

TEST_CASE("over the number of ranks, each size has its own sentence") {
    std::vector<Measured> measurements{example(), example(), example()};
    for (const std::size_t i : {0U, 1U, 2U}) {
        measurements[i].machine.ranks = std::vector{1, 2, 8}[i];
        measurements[i].machine.ranks_per_node = measurements[i].machine.ranks;
        measurements[i].machine.cores = 2;
    }
    measurements[1].points[1].vs_naive = about(0.5);
    measurements[2].points[4].vs_naive = about(1.08);
    const std::string table = to_table(measurements);
    CHECK(
        table.find("#      1 KiB ring passes naive between 2 ranks and 8 ranks\n") !=
        std::string::npos
    );
    CHECK(
        table.find("#      1 MiB ring is faster at 2 ranks; undecided at 8 ranks\n") !=
        std::string::npos
    );
    CHECK(table.find("# 8 ranks share 2 cores, so times also show") != std::string::npos);
    const auto document = nlohmann::json::parse(to_json(measurements));
    CHECK(document["ranks"] == nlohmann::json::array({1, 2, 8}));
    CHECK(document["runs"][1]["points"].size() == 6);
    CHECK(document["notes"][0].get<std::string>().starts_with("8 ranks share 2 cores"));
    REQUIRE(document["verdicts"].size() == 2);
    CHECK(document["verdicts"][0]["size_bytes"] == 1024);
    CHECK(document["verdicts"][0]["crossings"][0]["low_ranks"] == 2);
    CHECK(document["verdicts"][0]["standings"].size() == 2);
    CHECK(lines_of(to_csv(measurements)).size() == 19);
    CHECK(lines_of(to_csv(measurements)).back().ends_with(",8"));
    // what one number of ranks only closed in on is compared with nothing
    measurements[1].points.push_back(point("naive", 2048, 1.0));
    CHECK(nlohmann::json::parse(to_json(measurements))["verdicts"].size() == 2);
}
