#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "course/lab/bound.hpp"
#include "course/lab/registry.hpp"
#include "course/lab/report.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

namespace {

Point point(const std::string& algorithm, std::size_t size_bytes, double median_s) {
    return {
        .algorithm = algorithm,
        .size_bytes = size_bytes,
        .min_s = median_s * 0.9,
        .median_s = median_s,
        .p95_s = median_s * 1.1,
        .clean = 9,
        .run = 10,
        .wrong = 0};
}

/// Two sizes, naive 4 times and mpi 2 times as slow as ring; ring: t = 1 us + S / (1 GB/s).
Report example() {
    const Collective& collective = find_collective("all_reduce");
    Report report{
        .collective = collective,
        .algorithms = find_algorithms(collective, {"naive", "ring", "mpi"}),
        .machine = {},
        .seed = 7,
        .notes = {"mine is left out: a reason"},
        .bound = {},
        .points = {}};
    report.machine.ranks = 4;
    report.bound = {
        .p = 4, .bus_factor = 1.5, .alpha_s = 1e-6, .bytes_per_s_of_message = {{262144, 3e9}}};
    for (const std::size_t size_bytes : {1024U, 1048576U}) {
        const double ring_s = 1e-6 + static_cast<double>(size_bytes) / 1e9;
        report.points.push_back(point("naive", size_bytes, 4 * ring_s));
        report.points.push_back(point("ring", size_bytes, ring_s));
        report.points.push_back(point("mpi", size_bytes, 2 * ring_s));
    }
    return report;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

TEST_CASE("the lower bound is latency for small sizes and bandwidth for large ones") {
    const LowerBound bound{
        .p = 5,
        .bus_factor = 1.6,
        .alpha_s = 1e-6,
        .bytes_per_s_of_message = {{4, 4e6}, {1000, 2e9}, {1000000, 1e9}}};
    CHECK(bound.seconds(4) == Approx(3e-6));              // ceil(log2 5) exchanges
    CHECK(bound.seconds(100000) == Approx(1.6e5 / 1e9));  // messages of 20000 bytes or more
    CHECK(bound.seconds(5000) == Approx(1.6 * 5000 / 2e9));
    CHECK(LowerBound{.bytes_per_s_of_message = {}}.seconds(1000) == 0.0);  // one rank
}

TEST_CASE("rows hold bandwidths, ratios and efficiency") {
    const std::vector<Row> all = rows(example());
    REQUIRE(all.size() == 6);
    const Row& ring = all[4];
    CHECK(ring.point.algorithm == "ring");
    CHECK(ring.algbw_gbs == Approx(1.0).epsilon(0.01));
    CHECK(ring.busbw_gbs == Approx(1.5).epsilon(0.01));
    CHECK(ring.vs_naive.value() == Approx(4.0));
    CHECK(ring.vs_mpi.value() == Approx(2.0));
    CHECK(ring.bound_s == Approx(1.5 * 1048576 / 3e9));
    CHECK(ring.efficiency.value() == Approx(0.5).epsilon(0.01));
}

TEST_CASE("a ratio to an algorithm that was not measured is left empty") {
    Report report = example();
    std::erase_if(report.points, [](const Point& p) { return p.algorithm == "naive"; });
    CHECK_FALSE(rows(report).front().vs_naive);
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

TEST_CASE("CSV has one line for the names and one for each point, all with as many commas") {
    const std::vector<std::string> lines = lines_of(to_csv(example()));
    REQUIRE(lines.size() == 7);
    for (const std::string& line : lines) {
        CHECK(std::count(line.begin(), line.end(), ',') == 16);
    }
}

TEST_CASE("JSON holds the machine, the points and a fit for each algorithm") {
    const auto document = nlohmann::json::parse(to_json(example()));
    CHECK(document["bench"] == "all_reduce");
    CHECK(document["ranks"] == 4);
    CHECK(document["seed"] == 7);
    CHECK(document["points"].size() == 6);
    CHECK(document["points"][4]["vs_mpi"].get<double>() == Approx(2.0));
    REQUIRE(document["fits"].size() == 3);
    CHECK(document["fits"][1]["alpha_us"].get<double>() == Approx(1.0));
    CHECK(document["fits"][1]["beta_gbs"].get<double>() == Approx(1.0));
}
