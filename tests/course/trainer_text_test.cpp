// A GPT on text, as a user trains it.
#include <cmath>
#include <fstream>
#include <string>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace {

// Learned in a few steps: what comes next follows from the last byte alone.
std::string alphabet(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
        text += "abcdefghijklmnopqrstuvwxyz\n";
    }
    text.resize(bytes);
    return text;
}

constexpr const char* kShape = "--model gpt --context 16 --layers 2 --width 32 --heads 4 ";
const std::string kRun =
    std::string(kShape) + "--batch 8 --steps 40 --optimizer adamw --rate 0.01 ";

struct Texts {
    TemporaryFolder folder;
    std::string file = (folder.path() / "text").string();
    std::string log = (folder.path() / "log.jsonl").string();

    Texts() { std::ofstream(file) << alphabet(8000); }

    [[nodiscard]] std::string options() const { return kRun + "--text " + file + " --log " + log; }
};

std::string text_refusal(const std::string& arguments) {
    const Run run = run_trainer(2, arguments);
    INFO(run.output);
    CHECK(run.status == 2);
    const std::size_t begin = run.output.find("train: ");
    REQUIRE(begin != std::string::npos);
    return run.output.substr(begin, run.output.find_first_of("\r\n", begin) - begin);
}

}  // namespace

TEST_CASE("a GPT learns a text, and the log counts tokens", "[trainer]") {
    const Texts texts;
    const Run run = run_trainer(2, texts.options());
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(contains(run.output, "bytes to train on, 800 to test"));
    CHECK(contains(run.output, "gpt of 2 layers of width 32 with 4 heads and a context of 16"));
    CHECK(contains(run.output, "with 8 windows each"));
    CHECK(contains(run.output, "tokens/s"));
    CHECK(contains(run.output, "done: test loss"));
    const Records records = read_log(texts.log);
    CHECK(records[0].at("loss") == Approx(std::log(256)).margin(0.3));
    CHECK(records[0].at("tokens") == 2 * 8 * 16);
    CHECK(records[0].at("tokens_per_s") > 0);
    const auto test = last_with("perplexity", records);
    CHECK(test.at("test_loss") < 1);
    CHECK(test.at("perplexity") == Approx(std::exp(test.at("test_loss").get<double>())));
    CHECK(test.at("test_accuracy") > 0.9);
    CHECK(
        test.at("test_tokens") == 49 * 16
    );  // of 800 bytes, each window with the byte that follows it
}

/// Trains in this way, and expects the losses that `wanted` begins with.
void expect_losses(
    const Texts& texts, int ranks, const std::string& way, const std::vector<double>& wanted
) {
    INFO(way);
    const Run run = run_trainer(ranks, texts.options() + " --parallel " + way);
    INFO(run.output);
    REQUIRE(run.status == 0);
    const auto got = losses(texts.log);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < 10; ++i) {
        CHECK(got[i] == Approx(wanted[i]).epsilon(1e-4));  // later, roundings grow
    }
}

TEST_CASE("a GPT learns the same in every way of sharing it", "[trainer]") {
    const Texts texts;
    REQUIRE(run_trainer(2, texts.options() + " --parallel average").status == 0);
    const auto of_two = losses(texts.log);
    REQUIRE(of_two.size() == 40);
    for (const char* const way : {"ddp", "zero1", "zero2", "zero3"}) {
        expect_losses(texts, 2, way, of_two);
    }
    REQUIRE(run_trainer(1, texts.options() + " --parallel none").status == 0);
    const auto of_one = losses(texts.log);
    REQUIRE(of_one.size() >= 10);
    expect_losses(texts, 1, "dp", of_one);
}

TEST_CASE("train --sample goes on with a text as the checkpoint's model does", "[trainer]") {
    const Texts texts;
    const std::string folder = " --checkpoint " + (texts.folder.path() / "run").string();
    REQUIRE(run_trainer(2, texts.options() + folder).status == 0);
    const std::string sample = " --sample abc --sample-bytes 30 --temperature 0";
    const Run run = run_trainer(2, kShape + folder + sample);
    INFO(run.output);
    CHECK(run.status == 0);
    CHECK(run.output == "abcdefghijklmnopqrstuvwxyz\nabcdef\n");
    CHECK(
        run_trainer(1, kShape + folder + " --sample '' --sample-bytes 5 --temperature 0").output ==
        "\nabcde\n"
    );
    CHECK(contains(
        text_refusal("--model gpt" + folder + sample),
        "has a model gpt of 2 layers of width 32 with 4 heads and a context of 16, not a gpt of 4"
    ));
    CHECK(contains(
        text_refusal("--model gpt --checkpoint " + texts.folder.path().string() + sample),
        "there is no checkpoint"
    ));
}

TEST_CASE("what says nothing for a text, or for pictures, is refused", "[refusal]") {
    CHECK(contains(
        text_refusal("--model gpt --augment none"), "--augment goes with models of pictures only"
    ));
    CHECK(contains(text_refusal("--model small --width 64"), "--width goes with --model gpt only"));
    CHECK(contains(
        text_refusal("--model gpt --width 30 --heads 4"), "--heads 4 does not divide --width 30"
    ));
    CHECK(contains(text_refusal("--model gpt --text /nowhere"), "--text /nowhere: cannot be read"));
    CHECK(contains(text_refusal("--model gpt --layers 0"), "--layers"));
}
