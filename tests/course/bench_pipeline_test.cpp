// What bench pipeline says, but for its times: rows, columns, the formula's numbers.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

using Words = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("bench pipeline has the formula's step and bubble beside each", "[trainer]") {
    const Run run =
        run_program(BENCH_PIPELINE, 2, "--micro-batches 2,3 --stage-ms 1 --rounds 2 --json");
    INFO(run.output);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.output);
    CHECK(document.at("ranks") == 2);
    CHECK(document.at("stage_ms") == std::vector<double>{1, 1, 1});
    // ms of a step, in 3m of which a rank works; interleaved is left out for 3 on 2 ranks
    std::map<std::pair<std::string, int>, double> expected = {
        {{"gpipe", 2}, 9}, {{"1f1b", 2}, 9},   {{"interleaved", 2}, 7.5},
        {{"zb", 2}, 7},    {{"gpipe", 3}, 12}, {{"1f1b", 3}, 12},
        {{"zb", 3}, 10}};
    CHECK(document.at("results").size() == expected.size());
    for (const auto& one : document.at("results")) {
        CAPTURE(one);
        const int m = one.at("micro_batches");
        const double ms = expected.at({one.at("schedule"), m});
        CHECK(one.at("formula_s").get<double>() == Approx(1e-3 * ms));
        CHECK(one.at("formula_bubble").get<double>() == Approx(1 - 3 * m / ms));
        CHECK(one.at("steps_s").size() == 2);
    }
}

TEST_CASE("bench pipeline prints a table with zero bubble's lead, and writes CSV", "[trainer]") {
    const TemporaryFolder folder;
    const auto csv = folder.path() / "pipeline.csv";
    const Run run = run_program(
        BENCH_PIPELINE, 2,
        "--micro-batches 2,3 --schedule zb,1f1b --stage-ms 2,2,1 --rounds 1 --csv " + csv.string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(contains(run.output, "on 2 ranks: F 2 ms, I 2 ms, W 1 ms; medians of 1 steps"));
    CHECK(contains(run.output, "  m  schedule      step ms   formula  bubble %   formula  diff"));
    CHECK(contains(run.output, "  3  1f1b"));
    CHECK(contains(run.output, "m = 2: zero bubble is "));
    CHECK(contains(run.output, "times as fast as 1F1B, by the formula 1.15"));  // 15 ms and 13
    const std::string table = read_file(csv);
    CHECK(table.starts_with("schedule,micro_batches,step_s,formula_s,bubble,formula_bubble\nzb,2"));
    CHECK(std::ranges::count(table, '\n') == 5);
}

TEST_CASE("bench pipeline refuses what it cannot measure in one line", "[refusal]") {
    const Run help = run_program(BENCH_PIPELINE, 1, "--help");
    CHECK(help.status == 0);
    CHECK(contains(help.output, "./shardlings bench pipeline -n 4 --schedule 1f1b,zb"));
    for (const auto& [options, reason] : Words{
             {"--schedule dualpipe", "--schedule: dualpipe not in {gpipe,1f1b,interleaved,zb}"},
             {"--micro-batches 4,0", "--micro-batches: "},
             {"--stage-ms 5,5", "--stage-ms takes one number, or three: F, I and W"},
             {"--json --csv -", "--json and --csv - both want standard output"},
             {"--csv /proc/nowhere/pipeline.csv", "cannot write /proc/nowhere/pipeline.csv"},
             {"--schedule interleaved --micro-batches 3", "a multiple of the ranks, here of 2"}}) {
        const Run run = run_program(BENCH_PIPELINE, 2, options);
        INFO(run.output);
        CHECK(run.status == 2);
        const auto line = run.output.find("bench pipeline: ");
        REQUIRE(line != std::string::npos);
        CHECK(contains(run.output.substr(line, run.output.find('\n', line) - line), reason));
    }
}
