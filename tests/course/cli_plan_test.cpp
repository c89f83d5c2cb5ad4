// Which tests a job has to run is the launcher's to know, and which lines of a log are the harness's.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/judge/verdict.hpp"
#include "course/launch/plan.hpp"
#include "course/protocol/protocol.hpp"
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

TEST_CASE("a job's plan follows from what was asked for") {
    CHECK(plan({}) == Names{"it sends", "it sends twice", "it waits"});
    CHECK(plan({.test = "it sends"}) == Names{"it sends"});  // a whole name means that test alone
    CHECK(plan({.test = "sends"}) == Names{"it sends", "it sends twice"});
    CHECK(plan({}, "it sends") == Names{"it sends twice", "it waits"});
    CHECK(plan({}, "it waits").empty());
    CHECK(plan({.many = true}) == Names{"it is right on 11 ranks"});
    CHECK(plan({.ranks = harness::kManyRanks}).size() == 4);
}

TEST_CASE("a line without the nonce was written by somebody else") {
    const Folder folder;
    folder.write("rank-0.jsonl", R"({"plan": ["a"], "many": 0, "nonce": "word"}
{"test": "a", "state": "fail", "ranks": 1, "nonce": "word"}
{"test": "a", "state": "pass", "ranks": 1}
{"test": "a", "state": "pass", "ranks": 1, "nonce": "other"}
{"test": "a", "state": "pass", "ranks": 1, "nonce": 7}
{"finished": true, "nonce": ""}
)");
    const RankLog log = read_rank_log(folder.path, 0, "word");
    CHECK(log.planned);
    REQUIRE(log.records.size() == 1);
    CHECK(log.records[0].state == harness::Outcome::fail);
    CHECK_FALSE(log.finished);
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
