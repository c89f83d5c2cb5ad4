// Records of every state in every format. With SCHEMA_DOCUMENTS=DIR they are left there, for grade_schemas_test.sh.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tinyxml2.h>
#include <unistd.h>
#include <vector>

#include "course/grade/due.hpp"
#include "course/grade/formats.hpp"
#include "course/grade/gradebook.hpp"
#include "course/grade/points.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

const std::vector<State> kStates = {State::pass,        State::fail,         State::not_started,
                                    State::build_error, State::crash,        State::hang,
                                    State::time_limit,  State::memory_limit, State::output_limit,
                                    State::abort,       State::early_exit,   State::forbidden,
                                    State::not_run,     State::skipped,      State::harness_error};

bool has_tests(State state) {
    return state != State::build_error && state != State::not_run &&
           state != State::harness_error && state != State::skipped;
}

/// As a grader writes it; with all that is awkward in texts.
Grade record_of(const std::string& submission, const std::string& exercise, State state) {
    Result result;
    result.exercise = exercise;
    result.status = state;
    result.started_at = utc_now();
    result.message = state == State::pass ? "" : "why <b>&amp; \"quoted\", a\nsecond line \x01";
    if (has_tests(state)) {
        TestResult first;
        first.name = "it sends n/p elements";
        first.status = State::pass;
        first.ranks = 3;
        TestResult second;
        second.name = "it is \"right\" for <all> lengths & ranks";
        second.status = state;
        second.ranks = 1;
        second.message =
            state == State::pass ? "" : "=cmd|' /C calc'!A0, expected 1 got 2\nand so on";
        second.where = "ring_shift.cpp:14";
        second.repro = "./shardlings run ring_shift --seed 1 --test 'it is'";
        RankResult rank;
        rank.output = "caf\xc3\xa9 \x1b[31m red " + std::string(1000, 'y');
        rank.call = "MPI_Recv(from rank 2, tag 0, 4 bytes)";
        second.per_rank.push_back(rank);
        result.tests = {first, second};
    }
    Grade record = Grade::parse(to_json(result));
    record["mode"] = "grade";
    record["submission"] = {{"id", submission}, {"digest", "00"}};
    record["seeds"] = {1, 123456789012345};
    record["flags"] = Grade::array();
    give_points(record, {});
    give_counted(record, std::nullopt, std::nullopt);
    return record;
}

std::vector<Grade> of_every_state() {
    std::vector<Grade> records;
    for (const State state : kStates) {
        records.push_back(record_of("=ada, \"the\" <first>", "ring_shift", state));
        records.back()["submission"]["id"] = "ada " + std::string(name_of(state));
        records.push_back(record_of(records.back()["submission"]["id"], "send_recv", State::pass));
    }
    records[0]["similar_to"] = {{{"id", "bob <i>"}, {"share", 0.97}}};
    return records;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::string line;
    bool quoted = false;
    for (const char c : text) {
        quoted = c == '"' ? !quoted : quoted;
        if (c == '\n' && !quoted) {
            lines.push_back(line);
            line.clear();
        } else {
            line += c;
        }
    }
    return lines;
}

struct Folder {
    fs::path path = fs::temp_directory_path() / ("grades-" + std::to_string(getpid()));
    Folder() = default;
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_CASE("a spreadsheet gets a row for each record, and no formula") {
    std::vector<Grade> records = of_every_state();
    records[2]["submission"]["id"] = "=cmd|' /C calc'!A0";
    const auto lines = lines_of(as_csv(records));
    REQUIRE(lines.size() == records.size() + 1);
    CHECK(
        lines[0] ==
        "submission,exercise,status,score,max,first_failed,detail,seeds,flags,counted,days_late"
    );
    CHECK(
        lines[1] ==
        "ada pass,ring_shift,pass,1,1,,,1 123456789012345,nearly the same text as that of bob <i> "
        "(97 %),1,"
    );
    CHECK(has(
        lines[3],
        "'=cmd|' /C calc'!A0,ring_shift,fail,0,1,\"it is \"\"right\"\" for <all> lengths & ranks\","
        "\"'=cmd|' /C calc'!A0, expected 1 got 2\nand so on\""
    ));
}

TEST_CASE("no score for what is no fault of the answer") {
    for (const State state : kStates) {
        const Grade record = record_of("ada", "ring_shift", state);
        const bool ours = state == State::harness_error || state == State::skipped;
        INFO(name_of(state));
        CHECK(counts(record) != ours);
        CHECK(score_of(record) == (state == State::pass ? 1 : 0));
    }
}

TEST_CASE("points may be given in part, and never for what is forbidden") {
    Points points;
    points.partial = true;
    points.of["ring_shift"] = 10;
    Grade record = record_of("ada", "ring_shift", State::fail);
    give_points(record, points);
    CHECK(score_of(record) == 5);
    record = record_of("ada", "ring_shift", State::forbidden);
    give_points(record, points);
    CHECK(score_of(record) == 0);
    CHECK(max_score_of(record) == 10);
}

TEST_CASE("JUnit's counts are those of its elements") {
    const std::string text = as_junit(of_every_state());
    tinyxml2::XMLDocument document;
    REQUIRE(document.Parse(text.c_str()) == tinyxml2::XML_SUCCESS);
    int failures = 0;
    int errors = 0;
    int tests = 0;
    for (auto* suite = document.RootElement()->FirstChildElement(); suite != nullptr;
         suite = suite->NextSiblingElement()) {
        for (auto* test = suite->FirstChildElement("testcase"); test != nullptr;
             test = test->NextSiblingElement("testcase")) {
            ++tests;
            failures += test->FirstChildElement("failure") != nullptr ? 1 : 0;
            errors += test->FirstChildElement("error") != nullptr ? 1 : 0;
        }
    }
    CHECK(document.RootElement()->IntAttribute("tests") == tests);
    CHECK(document.RootElement()->IntAttribute("failures") == failures);
    CHECK(document.RootElement()->IntAttribute("errors") == errors);
    CHECK(failures == 3);  // fail, forbidden, not_started
    CHECK(errors == 10);   // all others but pass and skipped
}

TEST_CASE("Exercism's output is short, and every state that is no pass has a message") {
    for (const State state : kStates) {
        INFO(name_of(state));
        const Grade document = Grade::parse(as_exercism(record_of("ada", "ring_shift", state)));
        const std::string status = document["status"];
        CHECK((status == "pass") == (state == State::pass));
        if (status == "error") {
            CHECK_FALSE(document["message"].get<std::string>().empty());
        }
        for (const Grade& test : document.value("tests", Grade::array())) {
            CHECK(test.value("output", "").size() <= 500);
            CHECK((test["status"] == "pass" || !test["message"].get<std::string>().empty()));
        }
    }
}

TEST_CASE("Gradescope's document stays small, however much answers have to say") {
    std::vector<Grade> records(150, record_of("ada", "ring_shift", State::fail));
    for (Grade& record : records) {
        for (Grade& test : record["tests"]) {
            test["message"] = std::string(100'000, 'x');
        }
    }
    const std::string document = as_gradescope(records);
    CHECK(document.size() < 100'000);
    CHECK(has(document, "... (cut: 100"));
}

TEST_CASE("the page names everything, as text") {
    const std::string page = as_html(of_every_state(), {"cyd: ../x.cpp: not taken"});
    CHECK_FALSE(has(page, "<all>"));
    CHECK_FALSE(has(page, "bob <i>"));
    CHECK_FALSE(has(page, "\x1b"));
    CHECK(has(page, "it is &quot;right&quot; for &lt;all&gt; lengths &amp; ranks"));
    CHECK(has(page, "cyd: ../x.cpp: not taken"));
    CHECK(has(page, "nearly the same text as that of bob &lt;i&gt; (97 %)"));
    CHECK_FALSE(has(page, "http"));
    CHECK_FALSE(has(page, "<script"));
}

TEST_CASE("a gradebook keeps what it was given, and a record that was cut off counts as none") {
    const Folder folder;
    Gradebook book(folder.path);
    CHECK_FALSE(book.has_grades());
    book.write_seeds({7, 8});
    CHECK_FALSE(book.has_grades());
    CHECK(book.seeds() == std::vector<std::uint64_t>{7, 8});
    for (const std::string& name :
         {std::string("ada"), std::string("."), std::string("a/../b"), std::string(200, 'x')}) {
        book.write(record_of(name, "ring_shift", State::hang));
        const auto read = book.read(name, "ring_shift");
        INFO(name);
        REQUIRE(read);
        CHECK(submission_of(*read) == name);
    }
    CHECK(book.has_grades());
    std::ofstream(folder.path / "native/ada/ring_shift.json") << "{\"format\": 1, \"submis";
    CHECK_FALSE(book.read("ada", "ring_shift"));
    CHECK_FALSE(book.read("ada", "send_recv"));
}

TEST_CASE("a file of points names the line that is wrong") {
    const Folder folder;
    fs::create_directories(folder.path);
    Manifest manifest;
    manifest.exercises.emplace_back().name = "ring_shift";
    const auto said = [&](const std::string& text) -> std::string {
        std::ofstream(folder.path / "points.toml") << text;
        try {
            const Points points = read_points(folder.path / "points.toml", manifest);
            return points.partial ? "partial" : std::to_string(points.worth("ring_shift"));
        } catch (const UsageError& error) {
            return error.what();
        }
    };
    CHECK(said("[points]\nring_shift = 2.5\n") == "2.500000");
    CHECK(said("partial = true\n") == "partial");
    CHECK(
        has(said("[points]\nring_shift = \"many\"\n"),
            "points.toml:2: ring_shift must be a number from 0 on")
    );
    CHECK(has(said("[points]\nring_shift = -1\n"), "points.toml:2:"));
    CHECK(has(said("[points]\nring_shit = 1\n"), "Did you mean 'ring_shift'?"));
    CHECK(has(said("ring_shift = 1\n"), "points.toml:1: 'ring_shift' is none of"));
    CHECK(has(said("[points\n"), "points.toml:1:"));
    CHECK_THROWS_AS(read_points(folder.path / "none.toml", manifest), UsageError);
}

TEST_CASE("documents for their schemas") {
    const char* const folder = std::getenv("SCHEMA_DOCUMENTS");
    if (folder == nullptr) {
        return;
    }
    Gradebook book(folder);
    const std::vector<Grade> records = of_every_state();
    for (const Grade& record : records) {
        book.write(record);
    }
    book.write_all(records, {"a note"});
}
