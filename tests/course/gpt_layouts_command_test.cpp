// simulate train --model gpt, as one types it.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "course/simulate/gpt_text.hpp"
#include "tests/course/cli_simulated.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

Ended gpt(std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--model", "gpt"});
    return simulate(more);
}

void check_refused(const std::vector<std::string>& words, const std::string& says) {
    const Ended ended = simulate(words);
    INFO(ended.output);
    CHECK(ended.status == exit_status::kUsage);
    CHECK(has(ended.output, says));
    CHECK(ended.output.find('\n') == ended.output.size() - 1);
}

}  // namespace

TEST_CASE(
    "simulate train --model gpt shows the ten fastest meshes, and says what it took for granted"
) {
    const Ended ended = gpt({});
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(
        has(ended.output,
            "96 layers of width 12288, 96 heads, context 2048, vocabulary 51200: 174.6 billion")
    );
    CHECK(
        has(ended.output,
            "# 1536 sequences a step on 1024 ranks, each with 312 TFLOP/s, 2039 GB/s and 80 GB of "
            "memory")
    );
    CHECK(
        has(ended.output,
            "nodes of 8 ranks, 2400 Gbit/s for each and 2 us inside, 200 Gbit/s for each and 5 us "
            "between")
    );
    std::istringstream lines(ended.output);
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
        rows += line.starts_with('#') ? 0 : 1;
    }
    CHECK(rows == 10);
}

TEST_CASE("in a narrow window the table of layouts has fewer columns") {
    const GptTraining training;
    const GptSearch search = search_layouts(training, {});
    std::istringstream lines(table_of(search, training, false, 80));
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('#')) {
            CHECK(line.size() <= 80);
            ++rows;
        }
    }
    CHECK(rows == 10);
    CHECK(has(table_of(search, training, false, 80), "a wider window has more columns"));
    CHECK(has(table_of(search, training, false), "activations"));
}

TEST_CASE("simulate train --model gpt writes JSON and CSV of all meshes, and a picture") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("gpt-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const bool draws = dist::plots::missing_gnuplot().empty();
    std::vector<std::string> words = {
        "--ranks", "64",  "--layers", "24",    "--width",         "2048", "--heads", "16",
        "--batch", "256", "--json",   "--csv", folder / "gpt.csv"};
    if (draws) {
        words.insert(words.end(), {"--svg", folder / "gpt.svg"});
    }
    const Ended ended = gpt(words);
    INFO(ended.output);
    REQUIRE(ended.status == 0);
    const auto document = nlohmann::json::parse(ended.output);
    const auto& found = document["found"];
    CHECK(document["ranks"] == 64);
    CHECK(document["fit"] <= document["layouts"]);
    REQUIRE(found.size() > 10);
    const auto& fastest = found[0];
    CHECK(
        fastest["step_s"].get<double>() ==
        Approx(
            fastest["computation_s"].get<double>() + fastest["bubble_s"].get<double>() +
            fastest["tp_s"].get<double>() + fastest["pp_s"].get<double>() +
            fastest["dp_s"].get<double>() + fastest["optimizer_s"].get<double>()
        )
    );
    CHECK(fastest["step_s"] < found[1]["step_s"]);
    std::ifstream csv(folder / "gpt.csv");
    std::size_t lines = 0;
    for (std::string line; std::getline(csv, line); ++lines) {
    }
    CHECK(lines == found.size() + 1);
    if (draws) {
        CHECK(std::filesystem::file_size(folder / "gpt.svg") > 1000);
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("one mesh is shown with all that runs on it") {
    const Ended ended = gpt(
        {"--mesh", "dp=8,tp=8,pp=16", "--recompute", "yes", "--zero", "0", "--micro-batch", "1",
         "--json"}
    );
    INFO(ended.output);
    REQUIRE(ended.status == 0);
    const auto document = nlohmann::json::parse(ended.output);
    CHECK(
        document["layouts"] == 4
    );  // 192 micro-batches, and 6 layers in a stage: chunks 1, 2, 3 and 6
    for (const auto& found : document["found"]) {
        CHECK(found["dp"] == 8);
        CHECK(found["micro_batch"] == 1);
        CHECK(found["recompute"] == true);
        CHECK(found["zero"] == 0);
    }
}

TEST_CASE("the published rows stand beside ours") {
    const Ended ended = gpt({"--published"});
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "Narayanan et al. 2021, table 1"));
    CHECK(has(ended.output, "fitted on the first row"));
    CHECK(has(ended.output, "8 of 10 are among the best 3"));
    const Ended slower = gpt({"--published", "--inside-bandwidth", "230GB", "--json"});
    REQUIRE(slower.status == 0);
    CHECK(nlohmann::json::parse(slower.output)["rows"].size() == 10);
}

TEST_CASE("what no rank can hold is said, and how much would be enough") {
    const Ended ended = gpt({"--memory", "1GB", "--ranks", "8", "--batch", "8"});
    INFO(ended.output);
    CHECK(ended.status == exit_status::kFailed);
    CHECK(has(ended.output, "layouts fits: the least that a rank has to hold are "));
    CHECK(has(ended.output, "and --memory is 1.0 GB"));
}

TEST_CASE("bad options of --model gpt are refused in a line") {
    const std::vector<std::string> gpt_words = {"train", "--model", "gpt"};
    const auto refused = [&](std::vector<std::string> more, const std::string& says) {
        more.insert(more.begin(), gpt_words.begin(), gpt_words.end());
        check_refused(more, says);
    };
    refused({"--heads", "7"}, "--heads 7 does not divide --width 12288");
    refused({"--ranks", "8,16"}, "give one number of ranks");
    refused({"--ranks", "12"}, "no whole number of nodes of 8");
    refused({"--ranks", "1048"}, "no layout is possible");
    refused({"--mesh", "dp=8,cp=2"}, "\"cp=2\" cannot be read: write dp=6,tp=8,pp=64");
    refused({"--mesh", "tp"}, "\"tp\" cannot be read");
    refused({"--mesh", "tp=0"}, "\"tp=0\" cannot be read");
    refused({"--mesh", "tp=3"}, "no layout is possible");
    refused({"--flops", "312Tera"}, "--flops: \"312Tera\" cannot be read: write 312T");
    refused({"--flops", "0"}, "nothing is ever computed");
    refused({"--memory", "80"}, "--memory: \"80\" cannot be read: write 80GB");
    refused({"--efficiency", "1.5"}, "is no share");
    refused({"--forward", "1s"}, "--forward goes with models of pictures only");
    refused({"--platform", "x.xml"}, "--platform goes with models of pictures only");
    refused({"--published", "--layers", "3"}, "--layers does not go with --published");
    refused({"--published", "--flops", "100T"}, "TFLOP/s at most, where 137.0 were measured");
    check_refused(
        {"train", "--forward", "1s", "--backward", "1s", "--layers", "3"},
        "--layers goes with --model gpt only"
    );
    const Ended recompute = gpt({"--recompute", "often"});
    CHECK(recompute.status == exit_status::kUsage);
    const Ended help = simulate({"train", "--help"});
    CHECK(has(help.output, "--model gpt is calculated"));
}
