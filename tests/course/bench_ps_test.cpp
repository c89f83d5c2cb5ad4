// Parameter servers beside ddp: what they send, and what they learn.
#include <nlohmann/json.hpp>
#include <string>

#include "course/plots/gnuplot.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace {

nlohmann::json beside_ddp(int ranks, const std::string& options) {
    const Run run = run_program(BENCH_PS, ranks, options + " --rounds 1 --batch 4 --json");
    INFO(run.output);
    REQUIRE(run.status == 0);
    return nlohmann::json::parse(run.output);
}

}  // namespace

TEST_CASE("a server sends what its workers pull, and ddp what the ring does", "[trainer]") {
    const int servers = GENERATE(1, 2);
    const auto document =
        beside_ddp(2 + servers, "--steps 12 --stall-ms 1 --servers " + std::to_string(servers));
    CHECK(document.at("workers") == 2);
    const auto& ways = document.at("ways");
    REQUIRE(ways.size() == 6);  // ddp, ps and ps with old weights, each with stalls and without
    const double n = document.at("parameters").get<double>();
    for (const auto& way : ways) {
        CAPTURE(way.at("name"), way.at("stalls"));
        const bool ddp = way.at("name") == "ddp";
        const double formula = way.at("formula_bytes").get<double>();
        CHECK(formula == Approx(ddp ? 4 * n : 4 * n * 2 / servers));
        // beside it the first weights, the rates, and the losses that replicas compare
        CHECK(way.at("busiest_bytes").get<double>() > 0.99 * formula);
        CHECK(way.at("busiest_bytes").get<double>() < 1.2 * formula + 1e4);
        CHECK(way.at("curve").size() == 12);
        CHECK(way.at("steps_per_s").get<double>() > 0);
    }
    // together they take ddp's steps, to the bit
    CHECK(ways[0].at("last_loss") == ways[2].at("last_loss"));
    CHECK(ways[0].at("last_loss") == ways[1].at("last_loss"));
}

TEST_CASE("bench ps draws, prints a table, and refuses what leaves no worker", "[trainer]") {
    const TemporaryFolder folder;
    const std::string svg = (folder.path() / "ps.svg").string();
    std::string options = "--steps 4 --batch 2 --rounds 1 --stall-ms 0";
    if (dist::plots::missing_gnuplot().empty()) {
        options += " --svg " + svg;
    }
    const Run run = run_program(BENCH_PS, 3, options);
    INFO(run.output);
    CHECK(run.status == 0);
    CHECK(contains(run.output, "ps, 2 steps old"));
    CHECK(contains(run.output, "2 workers with 2 pictures a step, 1 server;"));
    if (dist::plots::missing_gnuplot().empty()) {
        CHECK(contains(read_file(svg), "with stalls"));
    }
    const Run refused = run_program(BENCH_PS, 2, "--servers 2");
    CHECK(refused.status == 2);
    CHECK(contains(refused.output, "bench ps: --servers 2 leaves no worker of 2 ranks"));
}
