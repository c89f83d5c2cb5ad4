// --parallel ps: parameter servers.
#include <cmath>
#include <string>
#include <vector>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace {

const std::string kSteps = "--batch 12 --steps 20 --rate 0.1 ";

double mean(const std::vector<double>& all, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
        sum += all.at(i);
    }
    return sum / static_cast<double>(end - begin);
}

}  // namespace

TEST_CASE("workers that take each step together have the bits of ddp", "[trainer]") {
    const std::string optimizer = GENERATE("", "--optimizer adamw --rate 0.01 ");
    const std::vector<double> wanted = losses_with(2, kSteps + optimizer + "--parallel ddp");
    REQUIRE(wanted.size() == 20);
    CHECK(losses_with(3, kSteps + optimizer + "--parallel ps") == wanted);
    CHECK(losses_with(4, kSteps + optimizer + "--parallel ps --servers 2") == wanted);
}

TEST_CASE("gradients that are added up are pushed once", "[trainer]") {
    const std::string twice = kSteps + "--accumulate 2 --parallel ";
    CHECK(losses_with(3, twice + "ps") == losses_with(2, twice + "ddp"));
}

TEST_CASE("workers that may be apart learn", "[trainer]") {
    // so slow that gradients of older weights, whoever comes first, still lead to them
    const std::string slowly = "--batch 12 --steps 40 --rate 0.02 --augment none ";
    const std::vector<double> all = losses_with(3, slowly + "--parallel ps --staleness 2");
    REQUIRE(all.size() == 40);
    for (const double loss : all) {
        CHECK(std::isfinite(loss));
    }
    CHECK(mean(all, 35, 40) < mean(all, 0, 5) / 2);
}

TEST_CASE("servers train a model of text", "[trainer]") {
    const TemporaryFolder folder;
    const std::string log = (folder.path() / "log.jsonl").string();
    const std::string gpt =
        "--model gpt --context 16 --layers 1 --width 16 --heads 2 --batch 4 --steps 4 --log " +
        log + " --parallel ";
    REQUIRE(run_trainer(2, gpt + "ddp").status == 0);
    const std::vector<double> wanted = losses(log);
    REQUIRE(run_trainer(3, gpt + "ps").status == 0);
    CHECK(losses(log) == wanted);
}

TEST_CASE("what does not go with servers is refused in one line", "[refusal]") {
    const auto refused = [](int ranks, const std::string& options, const std::string& why) {
        const Run run = run_trainer(ranks, kLittle + kSteps + options);
        INFO(run.output);
        CHECK(run.status == 2);
        CHECK(contains(run.output, why));
        CHECK(run.output.find("train: ") == run.output.rfind("train: "));
    };
    refused(2, "--parallel ps --servers 2", "leaves no worker: train -n 3 or more");
    refused(2, "--servers 2", "--servers goes with --parallel ps only");
    refused(2, "--parallel ddp --staleness 1", "--staleness goes with --parallel ps only");
    refused(3, "--parallel ps --checkpoint x", "--checkpoint does not go with --parallel ps");
    refused(3, "--parallel ps --clip-norm 1", "--clip-norm does not go with --parallel ps");
    refused(3, "--parallel ps --data /nowhere", "there is no folder /nowhere");
}
