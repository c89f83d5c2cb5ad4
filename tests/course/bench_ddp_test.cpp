// The course's DDP beside PyTorch's own.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/course/trainer_run.hpp"
#include "tests/harness/catch2.hpp"

TEST_CASE(
    "gradients of the Reducer are those of PyTorch's, bit for bit, in every step", "[trainer]"
) {
    // three ranks: the order of a sum shows; a network that fills four buckets, which are planned anew
    const Run run = run_program(
        BENCH_DDP, 3, "--model resnet34-imagenet --batch 2 --rounds 3 --ways ddp,pytorch --json"
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    const auto report = nlohmann::json::parse(run.output);
    REQUIRE(report.at("ways").size() == 2);
    CHECK(report.at("ways")[0].at("name") == "ddp");
    CHECK(report.at("ways")[0].at("differ") == 0);
    CHECK(report.at("ways")[0].at("steps_s").size() == 3);
}

TEST_CASE("bench ddp sees gradients that are not PyTorch's", "[trainer]") {
    // on three ranks a mean that is divided after the sum is rounded otherwise
    const Run run = run_program(
        BENCH_DDP, 3, "--model small --batch 4 --rounds 2 --bucket-cap-mb 0 --ways average,pytorch"
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(run.output.find("not in 2 of 2 steps") != std::string::npos);
}

TEST_CASE("bench ddp refuses what it cannot measure in one line", "[refusal]") {
    const Run run = run_program(BENCH_DDP, 2, "--ways horovod");
    INFO(run.output);
    CHECK(run.status == 2);
    CHECK(run.output.find("bench ddp: --ways: horovod") != std::string::npos);
}
