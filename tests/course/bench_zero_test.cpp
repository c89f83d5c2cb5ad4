// What each stage of ZeRO holds and sends, in a whole step of the trainer's.
#include <nlohmann/json.hpp>
#include <string>

#include "course/plots/gnuplot.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace {

nlohmann::json measure(int ranks, const std::string& options) {
    const Run run = run_program(BENCH_ZERO, ranks, options + " --rounds 1 --json");
    INFO(run.output);
    REQUIRE(run.status == 0);
    return nlohmann::json::parse(run.output).at("ways");
}

/// Elements of parameters in a row, cut into p.
std::size_t shard(std::size_t n, int p) {
    return (n + static_cast<std::size_t>(p) - 1) / static_cast<std::size_t>(p);
}

}  // namespace

TEST_CASE(
    "every stage holds what memory_model says, to the byte, and sends what it must", "[trainer]"
) {
    const int p = GENERATE(1, 2, 3, 4);
    const std::string optimizer = GENERATE("sgd", "adamw");
    CAPTURE(p, optimizer);
    const auto ways =
        measure(p, "--model small --batch 4 --bucket-cap-mb 0 --optimizer " + optimizer);
    REQUIRE(ways.size() == 4);
    // three convolutions and a layer, of weights and biases each
    const std::vector<std::size_t> lengths = {864, 32, 18'432, 64, 73'728, 128, 20'480, 10};
    std::size_t n = 0;
    std::size_t each = 0;   // of rows of one parameter
    std::size_t pairs = 0;  // of rows of a layer
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        n += lengths[i];
        each += shard(lengths[i], p);
        pairs += i % 2 == 0 ? shard(lengths[i] + lengths[i + 1], p) : 0;
    }
    const auto sent = [&](std::size_t shards) {
        return 4 * static_cast<std::size_t>(p - 1) * shards;
    };
    for (const auto& way : ways) {
        CAPTURE(way);
        const auto& held = way.at("held");
        CHECK(
            held.at("parameters").get<std::size_t>() + held.at("gradients").get<std::size_t>() +
                held.at("optimizer").get<std::size_t>() ==
            way.at("formula").get<std::size_t>()
        );
        CHECK(held.at("activations") == 0);
    }
    CHECK(ways[1].at("sent") == sent(2 * shard(n, p)));
    CHECK(ways[2].at("sent") == sent(2 * each));
    CHECK(ways[3].at("sent") == sent(3 * pairs));
}

TEST_CASE("with copies of its shards zero3 holds and sends what the formula says", "[trainer]") {
    const auto zero3 = measure(4, "--model small --batch 4 --ways zero3 --shard-ranks 2").at(0);
    CAPTURE(zero3);
    std::size_t shards = 0;  // of two ranks
    for (const std::size_t n : {864 + 32, 18'432 + 64, 73'728 + 128, 20'480 + 10}) {
        shards += n / 2;
    }
    CHECK(zero3.at("formula") == 3 * 4 * shards);  // weights, gradients, momentum
    const auto& held = zero3.at("held");
    CHECK(
        held.at("parameters").get<std::size_t>() + held.at("gradients").get<std::size_t>() +
            held.at("optimizer").get<std::size_t>() ==
        3 * 4 * shards
    );
    // two gathers and a reduce-scatter within the copy, and an all-reduce with the other one
    CHECK(zero3.at("sent") == 4 * (3 * shards + shards));
}

TEST_CASE("bench zero has a ResNet34 in a third of DDP's bytes, and draws it", "[trainer]") {
    const TemporaryFolder folder;
    const auto svg = folder.path() / "zero.svg";
    const std::string draw = dist::plots::missing_gnuplot().empty() ? " --svg " + svg.string() : "";
    const auto ways = measure(3, "--model resnet34-imagenet --batch 2 --ways ddp,zero3" + draw);
    const auto total = [](const nlohmann::json& bytes) {
        std::size_t sum = 0;
        for (const auto& [kind, n] : bytes.items()) {
            sum += n.get<std::size_t>();
        }
        return sum;
    };
    const auto& ddp = ways.at(0);
    const auto& zero3 = ways.at(1);
    CHECK(ddp.at("formula") == 12 * 21'289'802);
    CHECK(3 * zero3.at("formula").get<std::size_t>() < ddp.at("formula").get<std::size_t>() + 1000);
    CHECK(total(zero3.at("peak")) < total(ddp.at("peak")));
    if (draw.empty()) {
        WARN("gnuplot is not installed: the picture was not tried");
        return;
    }
    const std::string picture = read_file(svg);
    CHECK(picture.find("zero3: ") != std::string::npos);
    CHECK(picture.find("activations") != std::string::npos);
}

TEST_CASE("bench zero refuses what it cannot measure in one line", "[refusal]") {
    const Run run = run_program(BENCH_ZERO, 2, "--optimizer lamb");
    INFO(run.output);
    CHECK(run.status == 2);
    CHECK(run.output.find("bench zero: --optimizer: lamb") != std::string::npos);
    const Run shards = run_program(BENCH_ZERO, 2, "--shard-ranks 3");
    INFO(shards.output);
    CHECK(shards.status == 2);
    CHECK(
        shards.output.find("bench zero: --shard-ranks 3 does not divide 2 ranks\n") !=
        std::string::npos
    );
    const Run nowhere = run_program(BENCH_ZERO, 2, "--svg /proc/nowhere/zero.svg");
    INFO(nowhere.output);
    CHECK(nowhere.status == 2);
    CHECK(nowhere.output.find("bench zero: ") != std::string::npos);
    CHECK(nowhere.output.find("/proc/nowhere/zero.svg") != std::string::npos);
}
