// simulate --paper: numbers that were worked out by hand, and the command as one types it.
#include "course/simulate/papers.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/process/error.hpp"
#include "tests/course/cli_simulated.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

double ours(const std::string& paper, std::size_t row) {
    return find_paper(paper).rows.at(row).ours;
}

}  // namespace

TEST_CASE("ours are what the formulas give") {
    // 14 messages of 1 us, and 7/4 of 256 MB at 450 GB/s: 1009.6 us, in which 7/4 of them pass
    CHECK(ours("playbook", 0) == Approx(443.76).epsilon(1e-4));
    // and 126 of 5 us, and 63/32 of 32 MB at 50 GB/s: 2899.6 us for 511/256 of 256 MB
    CHECK(ours("playbook", 6) == Approx(176.2).epsilon(1e-3));
    CHECK(ours("narayanan", 0) == Approx(137));  // fitted
    // 128 ranks take 7 rounds, and the other 16 hand over and get back
    CHECK(ours("osu", 0) == Approx(9 * 1.67 + 9 * 4 / 12254.0));
    // 286 messages of 1.67 us, and 143/72 of the bytes
    CHECK(ours("osu", 6) == Approx(286 * 1.67 + 143.0 / 72 * 268435456 / 12254));
    CHECK(ours("own-ring", 0) == Approx(30 * 0.060 + 30.0 / 16 * 4096 / 20e6));
    CHECK(ours("own-ring", 5) == Approx(1.8 + 30.0 / 16 * 8589934592 / 20e6));
    // a failure every 3.09 h: as simulate train --mtbf 3.1h says of 60 s
    CHECK(ours("llama3", 0) == Approx(87.6).margin(0.1));
}

TEST_CASE("the ring of another agrees, a flat model of 36 ranks at one card does not") {
    for (const PaperRow& row : find_paper("own-ring").rows) {
        INFO(row.what);
        CHECK(row.ratio() > 0.8);
        CHECK(row.ratio() < 1.4);
    }
    const std::vector<PaperRow> rows = find_paper("osu").rows;
    for (const PaperRow& row : rows) {
        INFO(row.what);
        const bool small = row.theirs < 100;
        CHECK((row.ratio() > 0.5) == small);
    }
}

TEST_CASE("simulate --paper shows each paper, and builds nothing") {
    const Ended list = simulate({"--paper", "list"});
    CHECK(list.status == 0);
    for (const Paper& paper : papers()) {
        INFO(paper.name);
        CHECK(has(list.output, paper.name));
        const Ended shown = simulate({"--paper", paper.name});
        CHECK(shown.status == 0);
        CHECK(has(shown.output, paper.title));
        CHECK(has(shown.output, paper.rows.back().what));
        const auto document =
            nlohmann::json::parse(simulate({"--paper", paper.name, "--json"}).output);
        CHECK(document["rows"].size() == paper.rows.size());
        CHECK(document["rows"][0]["ratio"].get<double>() == Approx(paper.rows[0].ratio()));
    }
    const auto names = nlohmann::json::parse(simulate({"--paper", "list", "--json"}).output);
    CHECK(names["papers"].size() == papers().size());
}

TEST_CASE("simulate --paper writes CSV, and refuses what it does not take") {
    const std::filesystem::path csv =
        std::filesystem::temp_directory_path() / ("osu-" + std::to_string(getpid()) + ".csv");
    CHECK(simulate({"--paper", "osu", "--csv", csv}).status == 0);
    std::ifstream file(csv);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(csv);
    CHECK(std::ranges::count(text, '\n') == 8);
    CHECK(text.starts_with("what,unit,theirs,ours,ratio\n4 B,us,11.69,"));
    const Ended unknown = simulate({"--paper", "nccl"});
    CHECK(unknown.status == exit_status::kUsage);
    CHECK(has(unknown.output, "--paper nccl: there are list, playbook, narayanan, osu, own-ring"));
    const Ended both = simulate({"all_reduce", "--paper", "osu"});
    CHECK(both.status == exit_status::kUsage);
    CHECK(has(both.output, "NAME does not go with --paper"));
    for (const std::string option : {"--ranks", "--html", "--sizes"}) {
        const Ended beside = simulate({"--paper", "osu", option, "4"});
        CHECK(beside.status == exit_status::kUsage);
        CHECK(has(beside.output, option + " does not go with --paper"));
    }
}
