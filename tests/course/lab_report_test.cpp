#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/lab/bound.hpp"
#include "course/lab/measured.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

TEST_CASE("messages are bound by latency for small sizes and by copies for large ones") {
    const LowerBound bound{
        .p = 5, .received = 1.6, .hop_s = 1e-6, .pass_bytes_per_s = {{1000, 2e9}, {1000000, 1e9}}};
    CHECK(bound.seconds(4, Means::messages) == Approx(3e-6));              // ceil(log2 5) in a row
    CHECK(bound.seconds(100000, Means::messages) == Approx(1.6e5 / 1e9));  // 20000 bytes or more
    CHECK(bound.seconds(5000, Means::messages) == Approx(1.6 * 5000 / 2e9));
    CHECK(LowerBound{.pass_bytes_per_s = {}}.seconds(1000, Means::messages) == 0.0);  // one rank
}

TEST_CASE("what may share memory is bound by what it reads and writes, not by messages") {
    const LowerBound bound{
        .p = 4, .received = 1.5, .hop_s = 1e-3, .pass_bytes_per_s = {{1000, 2e9}}};
    CHECK(bound.seconds(4000, Means::shared_memory) == Approx(4000 / 2e9));
    CHECK(bound.seconds(4000, Means::library) == Approx(4000 / 2e9));
}

TEST_CASE("rows hold bandwidths, ratios and efficiency") {
    const std::vector<Row> all = rows(example());
    REQUIRE(all.size() == 6);
    const Row& ring = all[4];
    CHECK(ring.point.algorithm == "ring");
    CHECK(ring.algbw_gbs == Approx(1.0).epsilon(0.01));
    CHECK(ring.busbw_gbs == Approx(1.5).epsilon(0.01));
    CHECK(ring.bound_s == Approx(1.5 * 1048576 / 3e9));
    CHECK(ring.efficiency.value() == Approx(0.5).epsilon(0.01));
    CHECK(all[5].bound_s == Approx(1048576 / 3e9));  // mpi: nobody knows whether by messages
}

TEST_CASE("the table has nccl-tests' columns first, a line a point, and remarks after #") {
    const std::vector<std::string> lines = lines_of(to_table(example()));
    std::vector<std::string> body;
    for (const std::string& line : lines) {
        if (!line.starts_with('#')) {
            body.push_back(line);
        }
    }
    REQUIRE(body.size() == 7);
    std::istringstream header(body[0]);
    for (const char* column : {"size(B)", "count", "type", "redop", "algorithm", "time(us)"}) {
        std::string word;
        header >> word;
        CHECK(word == column);
    }
    for (const std::string& line : body) {
        CHECK(line.size() == body[0].size());
    }
    CHECK(to_table(example()).find("# mine is left out: a reason") != std::string::npos);
}

TEST_CASE("the table says why it has no ratios") {
    const std::string said = "# no ratios: they are to naive and to mpi";
    Measured measured = example();
    CHECK(to_table(measured).find(said) == std::string::npos);
    measured.algorithms = find_algorithms(measured.collective, {"ring", "tree"});
    CHECK(to_table(measured).find(said) != std::string::npos);
    measured.algorithms.pop_back();  // one alone has none, and nobody expects one
    CHECK(to_table(measured).find(said) == std::string::npos);
}

TEST_CASE("CSV has one line for the names and one for each point, all with as many commas") {
    const std::vector<std::string> lines = lines_of(to_csv({example()}));
    REQUIRE(lines.size() == 7);
    for (const std::string& line : lines) {
        CHECK(std::count(line.begin(), line.end(), ',') == 28);
    }
}

TEST_CASE("JSON holds the machine, the points and a fit for each algorithm") {
    const auto document = nlohmann::json::parse(to_json(std::vector{example()}));
    CHECK(document["bench"] == "all_reduce");
    CHECK(document["ranks"] == 4);
    CHECK(document["seed"] == 7);
    CHECK(document["points"].size() == 6);
    CHECK(document["points"][4]["vs_mpi"]["ratio"].get<double>() == Approx(2.0));
    REQUIRE(document["fits"].size() == 3);
    CHECK(document["fits"][1]["alpha_us"].get<double>() == Approx(1.0));
    CHECK(document["fits"][1]["beta_gbs"].get<double>() == Approx(1.0));
    CHECK(document["fits"][1]["beta_ns_per_byte"].get<double>() == Approx(1.0));
}

TEST_CASE("a long name widens its column in every line alike") {
    Measured measured = example();
    measured.algorithms[1] = find_algorithms(measured.collective, {"recursive_doubling"}).front();
    for (Point& point : measured.points) {
        point.algorithm = point.algorithm == "ring" ? "recursive_doubling" : point.algorithm;
    }
    std::vector<std::size_t> widths;
    for (const std::string& line : lines_of(to_table(measured))) {
        if (!line.starts_with('#')) {
            widths.push_back(line.size());
        }
    }
    REQUIRE(widths.size() == 7);
    CHECK(std::ranges::count(widths, widths[0]) == 7);
}

TEST_CASE("auto says what it ran, and what the model would have chosen") {
    Measured measured = example();
    const auto candidates = candidates_of_auto(false);
    measured.algorithms = find_algorithms(measured.collective, {"naive", "ring", "auto"});
    for (Point& point : measured.points) {
        if (point.algorithm == "mpi") {
            point.algorithm = "auto";
            point.chose = "naive";
        }
    }
    measured.choices = {
        {.size_bytes = 1024,
         .best = candidates[0],
         .by_model = candidates[1],
         .model_over_best = 1.5},
        {.size_bytes = 1048576, .best = candidates[0], .by_model = candidates[0]}};
    const std::string table = to_table(measured);
    CHECK(
        table.find("1 KiB ring, 1.50 times as long as naive in the trial\n") != std::string::npos
    );
    CHECK(table.find("1 MiB naive: the same\n") != std::string::npos);
    CHECK(lines_of(to_csv({measured}))[3].ends_with(",naive,0,no,0.00,4"));
    CHECK(lines_of(to_csv({measured}))[2].ends_with(",,0,no,0.00,4"));
    const auto document = nlohmann::json::parse(to_json(std::vector{measured}));
    CHECK(document["points"][2]["chose"] == "naive");
    CHECK(document["points"][1]["chose"].is_null());
    CHECK(document["choices"][0]["by_model"] == "ring");
    CHECK(document["choices"][0]["model_over_best"] == 1.5);
}
