// simulate train on simulated clusters: the collectives are the course's, and take what their formulas say.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/cli_simulated.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

#ifdef SHARDLINGS_CLI
using dist::cli::Ended;

namespace {

const std::vector<std::string> kWork = {"train", "--forward",   "120ms", "--backward",
                                        "240ms", "--optimizer", "10ms"};

Ended train(const std::vector<std::string>& more) {
    std::vector<std::string> words = kWork;
    words.insert(words.end(), more.begin(), more.end());
    return simulate(words);
}

/// The steps, by "way ranks".
std::map<std::string, nlohmann::json> steps_of(std::vector<std::string> more) {
    more.emplace_back("--json");
    const Ended ended = train(more);
    INFO(ended.output);
    REQUIRE(ended.status == 0);
    const auto document = nlohmann::json::parse(ended.output.substr(ended.output.find("{\"")));
    std::map<std::string, nlohmann::json> steps;
    for (const auto& step : document["steps"]) {
        steps
            [step["parallel"].get<std::string>() + " " + std::to_string(step["ranks"].get<int>())] =
                step;
    }
    return steps;
}

/// p - 1 messages of a chunk in a row, each with 16 bytes of SMPI's.
double chunks_s(double floats, int p) {
    constexpr double kAlpha = 2e-6;
    constexpr double kBeta = 8e-10;
    return (p - 1) * (kAlpha + kBeta * (16 + 4 * floats / p));
}

}  // namespace

TEST_CASE("a simulated step takes its work and what rings take by their formula", "[simgrid]") {
    constexpr double kWorkS = 0.37;
    constexpr double kFloats = 21'282'122;
    const auto steps =
        steps_of({"--ranks", "4,16", "--parallel", "average,ddp,zero1,zero2,zero3,ps"});
    CHECK(steps.size() == 12);
    for (const int p : {4, 16}) {
        INFO(p);
        const auto at = [&](const std::string& way) {
            return steps.at(way + " " + std::to_string(p));
        };
        const double all_s = 2 * chunks_s(kFloats, p);
        const double loss_s = at("average")["step_s"].get<double>() - kWorkS - all_s;
        // two floats: chunks of one, and of none
        CHECK(loss_s > 2 * chunks_s(0, p) - 1e-6);
        CHECK(loss_s < 2 * chunks_s(p, p) + 2e-4 * all_s);
        CHECK(at("average")["hidden_s"].get<double>() == Approx(0).margin(1e-9));
        CHECK(
            at("zero1")["step_s"].get<double>() ==
            Approx(kWorkS - 0.01 + 0.01 / p + all_s + loss_s).epsilon(0.0002)
        );
        CHECK(at("ddp")["communication_s"].get<double>() > all_s);  // the same bytes, more messages
        CHECK(at("ddp")["communication_s"].get<double>() < 1.01 * all_s + loss_s);
        CHECK(at("ddp")["step_s"].get<double>() < at("average")["step_s"].get<double>());
        CHECK(at("zero2")["hidden_s"].get<double>() == Approx(0).margin(1e-9));
        CHECK(at("zero3")["communication_s"].get<double>() > 1.49 * all_s);
        // each of p - 1 workers sends all to the server, and gets all back, one after another
        const double server_s = 2 * (p - 1) * (2e-6 + 8e-10 * (16 + 4 * kFloats));
        CHECK(
            at("ps")["step_s"].get<double>() == Approx(kWorkS + server_s + loss_s).epsilon(0.001)
        );
        CHECK(
            at("ps")["images_per_s"].get<double>() ==
            Approx(64 * (p - 1) / at("ps")["step_s"].get<double>())
        );
        CHECK(at("ps")["server_bytes"].get<double>() == 2 * (p - 1) * 4 * kFloats);
        CHECK(at("ps")["server_card_s"].get<double>() == Approx(server_s).epsilon(0.001));
        CHECK(at("ps")["limit"] == "server's card");
        CHECK(at("ddp")["limit"] == "compute");
        for (const char* const way : {"average", "ddp", "zero1", "zero2", "zero3"}) {
            const auto step = at(way);
            CHECK(
                step["images_per_s"].get<double>() == Approx(64 * p / step["step_s"].get<double>())
            );
        }
    }
}

TEST_CASE("each number of servers is a line, where there are as many workers", "[simgrid]") {
    const Ended ended =
        train({"--ranks", "4,8", "--parallel", "ps", "--model", "small", "--servers", "1,2,3"});
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "# ps: 1, 2 or 3 of the ranks are servers"));
    CHECK(has(ended.output, "\n     4 ps 1 "));
    CHECK(!has(ended.output, "\n     4 ps 3 "));
    CHECK(has(ended.output, "\n     8 ps 3 "));
}

TEST_CASE("lengths between others are taken from lines, and that is said", "[simgrid]") {
    const Ended ended =
        train({"--ranks", "130", "--parallel", "ddp", "--model", "small", "--bucket-mb", "0"});
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "small, 0.1 million parameters"));
    CHECK(has(ended.output, "   130 ddp "));
    CHECK(has(
        ended.output, "# 130 ranks: of each collective the shortest and the longest were simulated"
    ));
}

TEST_CASE("a ring of one's own carries the simulated gradients", "[simgrid]") {
    const std::string solution =
        std::string(REPOSITORY) + "/solutions/03_ring_and_tree/ring_all_reduce.cpp";
    const std::vector<std::string> small = {"--ranks", "4",       "--parallel",
                                            "average", "--model", "small"};
    std::vector<std::string> mine = small;
    mine.insert(mine.end(), {"--mine", "ring_all_reduce", "--as", solution});
    CHECK(steps_of(mine).at("average 4") == steps_of(small).at("average 4"));

    mine.back() = std::string(REPOSITORY) +
                  "/tests/mutants/03_ring_and_tree/ring_all_reduce.toml:wrong_chunk";
    const Ended wrong = train(mine);
    CHECK(wrong.status == 1);
    CHECK(has(wrong.output, "wrong elements: ./shardlings run ring_all_reduce"));
}

TEST_CASE("what simulate train cannot do is said before anything is built", "[simgrid]") {
    const auto refused = [](const std::vector<std::string>& words, const std::string& what) {
        const Ended ended = simulate(words);
        INFO(ended.output);
        CHECK(ended.status == dist::cli::exit_status::kUsage);
        CHECK(has(ended.output, what));
    };
    refused({"train"}, "needs the time of a step on one rank");
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--log", "x"}, "needs the time of a step"
    );
    refused({"train", "--forward", "0s", "--backward", "0s"}, "takes no time");
    refused({"train", "--log", "/there/is/none"}, "cannot be read");
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--parallel", "dp"},
        "there is average, ddp"
    );
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--model", "vgg"}, "there is resnet34, "
    );
    refused({"train", "--forward", "1s", "--backward", "1s", "--as", "x"}, "needs --mine NAME");
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--ranks", "4", "--servers", "3",
         "--parallel", "ps"},
        "on 4 ranks there are fewer workers than servers"
    );
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--mine", "hierarchical_all_reduce"},
        "simulate hierarchical_all_reduce --nodes 16 --per-node 8"
    );
    refused(
        {"train", "--forward", "1s", "--backward", "1s", "--servers", "1,x"},
        "is no number of servers"
    );
    for (const std::string option : {"--html", "--sizes", "--csv"}) {
        refused(
            {option, "x", "train", "--forward", "1s", "--backward", "1s"},
            option + " belongs to simulate here"
        );
    }
    refused({"train", "--model", "gpt", "--html", "x"}, "--html goes with models of pictures only");
    refused({"train", "--mtbf", "3h", "--html", "x"}, "--html does not go with --mtbf");
    refused({"train", "--forward", "1s", "--backward", "1s", "ddp"}, "NAME belongs to simulate");
    const Ended help = simulate({"train", "--help"});
    CHECK(help.status == 0);
    CHECK(has(help.output, "an all-reduce for each bucket, beside backward"));
}
#endif
