// Which tests a job has to run is the launcher's to know, and which lines of a log are the harness's.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/build/lines.hpp"
#include "course/judge/verdict.hpp"
#include "course/launch/plan.hpp"
#include "course/protocol/protocol.hpp"
#include "course/protocol/seal.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
using namespace dist;

namespace {

namespace fs = std::filesystem;

struct Folder {
    fs::path path = fs::temp_directory_path() / ("plan-" + std::to_string(getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    void write(const std::string& file, const std::string& text) const {
        std::ofstream(path / file) << text;
    }
};

const std::vector<PlannedTest> kTests = {
    {"it sends"}, {"it sends twice"}, {"it waits"}, {"it is right on 11 ranks", true}};

using Names = std::vector<std::string>;

Names plan(const LaunchOptions& options, const std::string& after = "") {
    return plan_of(kTests, options, after);
}

}  // namespace

TEST_CASE("tests are found as their source spells them") {
    const Folder folder;
    folder.write("a_test.cpp", R"x(
// TEST_CASE("none")
TEST_CASE("one") {}
TEST_CASE("two, \"quoted\"", "[many]") {}
TEST_CASE(
    "three, which is "
    "long", "[slow]"
) {}
)x");
    const auto tests = tests_in(folder.path / "a_test.cpp");
    REQUIRE(tests.size() == 3);
    CHECK(tests[0].name == "one");
    CHECK(tests[1].name == "two, \"quoted\"");
    CHECK(tests[1].many);
    CHECK(tests[2].name == "three, which is long");
    CHECK_FALSE(tests[2].many);
}

TEST_CASE("tests of a header of the same folder are found where it is included, once") {
    const Folder folder;
    const std::string include = "#include \"tests/" + folder.path.filename().string() + "/";
    folder.write("c.hpp", "\nTEST_CASE(\"of c\") {}\n");
    folder.write("b.hpp", "#pragma once\n" + include + "c.hpp\"\nTEST_CASE(\"of b\") {}\n");
    folder.write(
        "a_test.cpp", "\nTEST_CASE(\"one\") {}\n" + include + "c.hpp\"\n" + include +
                          "b.hpp\"\n#include \"tests/other/c.hpp\"\nTEST_CASE(\"two\") {}\n"
    );
    const auto tests = tests_in(folder.path / "a_test.cpp");
    REQUIRE(tests.size() == 4);
    CHECK(tests[0].name == "one");
    CHECK(tests[1].name == "of c");
    CHECK(tests[2].name == "of b");
    CHECK(tests[3].name == "two");
}

TEST_CASE("a job's plan follows from what was asked for") {
    CHECK(plan({}) == Names{"it sends", "it sends twice", "it waits"});
    CHECK(plan({.test = "it sends"}) == Names{"it sends"});  // a whole name means that test alone
    CHECK(plan({.test = "sends"}) == Names{"it sends", "it sends twice"});
    CHECK(plan({}, "it sends") == Names{"it sends twice", "it waits"});
    CHECK(plan({}, "it waits").empty());
    CHECK(plan({.many = true}) == Names{"it is right on 11 ranks"});
    CHECK(plan({.ranks = harness::kManyRanks}).size() == 4);
}

TEST_CASE("a log holds the lines that its seals belong to, in their order, and no other") {
    const Folder folder;
    const harness::SealKey key = {1, 2};
    harness::Seal seal(key, 0);
    const auto sealed = [&](const std::string& line) { return seal.sealed(line) + "\n"; };
    const std::string plan = sealed(R"({"plan":["a"],"many":0})");
    const std::string record = sealed(R"({"test":"a","state":"fail","ranks":1})");
    const std::string end = sealed(R"({"finished":true})");
    const auto forged = [&](const std::string& lines, int rank = 0) {
        folder.write("rank-" + std::to_string(rank) + ".jsonl", lines);
        return read_rank_log(folder.path, rank, {key, rank}).forged;
    };
    CHECK_FALSE(forged(plan + record + end));
    CHECK_FALSE(forged(plan + record.substr(0, record.size() - 1)));  // died while it wrote
    CHECK(forged(
        plan + R"({"test":"a","state":"pass","ranks":1})"
               "\n"
    ));
    CHECK(forged(plan + record + record));
    CHECK(forged(plan + end));
    CHECK(forged(plan + record + end, 1));
    CHECK(forged(plan + replaced(record, "fail", "pass") + end));
    CHECK(forged(plan + "\n" + record + end));
    forged(plan + record + end);
    const RankLog log = read_rank_log(folder.path, 0, {key, 0});
    CHECK(log.planned);
    REQUIRE(log.records.size() == 1);
    CHECK(log.records[0].state == harness::Outcome::fail);
    CHECK(log.finished);
}

TEST_CASE("a seal is SipHash-2-4") {
    std::string text;
    for (char byte = 0; byte < 15; ++byte) {
        text += byte;
    }
    // the example of the paper's appendix
    CHECK(
        harness::keyed_sum({0x0706050403020100U, 0x0f0e0d0c0b0a0908U}, text) == 0xa129ca6149be45e5U
    );
}

TEST_CASE("who writes into the records has not passed, nor who has more of them than tests") {
    const Folder folder;
    const BoardFile board(folder.path);
    Job job;
    job.folder = folder.path;
    job.board = &*board;
    Record record;
    record.test = "a";
    record.state = harness::Outcome::pass;
    record.ranks = 1;
    RankLog log;
    log.planned = true;
    log.finished = true;
    log.plan = {"a"};
    log.records = {record};
    job.logs = {log, log};
    CHECK(overall(judge(job).tests) == State::pass);
    job.logs[1].forged = true;
    const Verdict verdict = judge(job);
    CHECK(overall(verdict.tests) == State::forbidden);
    CHECK(verdict.tests.at(0).message.starts_with("rank 1 has written into the records"));
    job.logs[1] = log;
    job.logs[1].records = {record, record};
    CHECK(overall(judge(job).tests) == State::forbidden);
}

TEST_CASE("a program that runs other tests than its source has is no pass") {
    const Folder folder;
    const BoardFile board(folder.path);
    Job job;
    job.folder = folder.path;
    job.board = &*board;
    RankLog log;
    log.planned = true;
    log.finished = true;
    log.plan = {"a"};
    Record record;
    record.test = "a";
    record.state = harness::Outcome::pass;
    record.ranks = 1;
    log.records = {record};
    job.logs = {log};
    job.plan = Names{"a"};
    CHECK(overall(judge(job).tests) == State::pass);
    for (const Names& names : {Names{"a", "b"}, Names{"b"}, Names{}}) {
        job.plan = names;
        const Verdict verdict = judge(job);
        CHECK(overall(verdict.tests) == State::forbidden);
    }
}
