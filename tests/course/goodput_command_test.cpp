// simulate train --mtbf, as one types it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "tests/course/cli_simulated.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

Ended failing(std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--mtbf", "3.1h", "--ranks", "16384"});
    return simulate(more);
}

nlohmann::json document_of(std::vector<std::string> more) {
    more.emplace_back("--json");
    const Ended ended = failing(more);
    INFO(ended.output);
    REQUIRE(ended.status == 0);
    return nlohmann::json::parse(ended.output);
}

}  // namespace

TEST_CASE("simulate train --mtbf shows goodput at intervals and on other ranks, beside formulas") {
    const Ended ended = failing({"--checkpoint-seconds", "60", "--restart-seconds", "300"});
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "16384 ranks train, and one fails every 3.1h; 10000 failures, seed 1"));
    CHECK(has(ended.output, "after 5m go on from the last checkpoint; one takes 1m"));
    CHECK(has(ended.output, "best interval: 19.3m by Young, 18.6m by Daly, "));
    CHECK(has(ended.output, "\n   65536        46.5m "));
    const Ended again = failing({});
    CHECK(again.output == ended.output);  // what was given is what is usual
    CHECK(failing({"--seed", "2"}).output != ended.output);
}

TEST_CASE("several restart times make a table, which says where goodput is above 90 %") {
    const std::vector<std::string> times = {"--intervals", "5m,20m", "--restart-seconds", "1m,20m"};
    std::vector<std::string> words = times;
    words.insert(words.end(), {"--checkpoint-seconds", "10s"});
    const Ended ended = failing(words);
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "after a column's time go on"));
    CHECK(has(ended.output, "*: above 90 %"));
    const auto points = document_of(words)["intervals"];
    REQUIRE(points.size() == 4);
    for (const auto& point : points) {
        const double goodput = point["restart_goodput"];
        CHECK((goodput > 0.9) == (point["restart_s"] == 60));
        CHECK(goodput == Approx(point["daly"].get<double>()).epsilon(0.01));
    }
}

TEST_CASE("with checkpoints for which training stands still a minute, no interval gives 90 %") {
    for (const auto& point : document_of({"--restart-seconds", "1m"})["intervals"]) {
        CHECK(point["restart_goodput"] < 0.9);
        CHECK(point["quorum_goodput"] > 0.99);
    }
}

TEST_CASE("the failures of a rank are those of the job, times its ranks") {
    const auto of_job = document_of({"--replicas", "128"});
    const Ended ended = simulate(
        {"train", "--mtbf-of-rank", "50790.4h", "--ranks", "16384", "--replicas", "128", "--json"}
    );
    REQUIRE(ended.status == 0);
    const auto of_rank = nlohmann::json::parse(ended.output);
    CHECK(of_rank["mtbf_s"].get<double>() == Approx(3.1 * 3600));
    CHECK(
        of_rank["over_ranks"][12]["quorum_goodput"].get<double>() ==
        Approx(of_job["over_ranks"][12]["quorum_goodput"].get<double>())
    );
    CHECK(of_job["over_ranks"][0]["replicas"] == 0);
    CHECK(of_job["over_ranks"][0]["quorum_goodput"].is_null());
}

TEST_CASE("simulate train --mtbf writes CSV, and a picture") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("goodput-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const bool draws = dist::plots::missing_gnuplot().empty();
    std::vector<std::string> words = {"--replicas", "128",   "--intervals",
                                      "5m,10m,20m", "--csv", folder / "goodput.csv"};
    if (draws) {
        words.insert(words.end(), {"--svg", folder / "goodput.svg"});
    }
    const Ended ended = failing(words);
    INFO(ended.output);
    CHECK(ended.status == 0);
    std::ifstream csv(folder / "goodput.csv");
    std::vector<std::string> lines;
    for (std::string line; std::getline(csv, line);) {
        lines.push_back(line);
    }
    REQUIRE(lines.size() == 1 + 3 + 13);
    CHECK(lines[1].starts_with("16384,128,11160"));
    CHECK(lines[4].starts_with("16,0,"));
    CHECK(lines[4].ends_with(",,"));
    if (draws) {
        std::ifstream svg(folder / "goodput.svg");
        const std::string picture((std::istreambuf_iterator<char>(svg)), {});
        CHECK(has(picture, "best interval: 19.3m by Young, 18.6m by Daly"));
        CHECK(has(picture, "quorum_step, simulated"));
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("bad options of --mtbf are refused in a line that names them") {
    const auto check_refused = [](const Ended& ended, const std::string& says) {
        INFO(ended.output);
        CHECK(ended.status == exit_status::kUsage);
        CHECK(has(ended.output, says));
        CHECK(ended.output.find('\n') == ended.output.size() - 1);
    };
    const auto refused = [&](const std::vector<std::string>& more, const std::string& says) {
        check_refused(failing(more), says);
    };
    refused({"--checkpoint-seconds", "1min"}, "--checkpoint-seconds: \"1min\" cannot be read");
    refused({"--checkpoint-seconds", "0"}, "--checkpoint-seconds: \"0\" is no time");
    refused({"--restart-seconds", "5m,soon"}, "--restart-seconds: \"soon\" cannot be read");
    refused({"--restart-seconds", ","}, "--restart-seconds names none");
    refused({"--restart-seconds", "1m,5m", "--svg", "x.svg"}, "--svg draws one restart time");
    refused({"--intervals", "0s"}, "--intervals: \"0s\" is no time");
    refused({"--step-seconds", "x"}, "--step-seconds: \"x\" cannot be read: write 3.1h, 5m, 60s");
    refused({"--replicas", "100"}, "--replicas 100 does not divide --ranks 16384");
    refused({"--mtbf-of-rank", "5d"}, "give one of them");
    refused({"--forward", "1s"}, "--forward does not go with --mtbf");
    refused({"--model", "gpt"}, "--model does not go with --mtbf");
    refused({"--layers", "3"}, "--layers does not go with --mtbf");
    const auto train_refused = [&](std::vector<std::string> words, const std::string& says) {
        words.insert(words.begin(), "train");
        check_refused(simulate(words), says);
    };
    train_refused({"--mtbf", "0h", "--ranks", "4"}, "--mtbf: \"0h\" is no time");
    train_refused({"--mtbf", "3h"}, "Give --ranks");
    train_refused({"--mtbf", "3h", "--ranks", "4,8"}, "with --mtbf give one number of ranks");
    train_refused({"--mtbf", "3h", "--ranks", "1"}, "is no number of ranks from 2");
    train_refused({"--replicas", "4"}, "--replicas goes with --mtbf only");
    train_refused({"--model", "gpt", "--seed", "4"}, "--seed goes with --mtbf only");
    CHECK(failing({"--failures", "0"}).status == exit_status::kUsage);
    CHECK(failing({"--replicas", "1"}).status == exit_status::kUsage);
    CHECK(has(simulate({"train", "--help"}).output, "share of the time is useful training"));
}
