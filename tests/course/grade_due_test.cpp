// Grades of those who were late, in every format; columns for Canvas; texts for tools that look for copies.
#include <archive.h>
#include <archive_entry.h>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tinyxml2.h>
#include <unistd.h>
#include <vector>

#include "course/grade/due.hpp"
#include "course/grade/entries.hpp"
#include "course/grade/formats.hpp"
#include "course/grade/gradebook.hpp"
#include "course/grade/similarity.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

struct LateFolder {
    fs::path path = fs::temp_directory_path() / ("late-" + std::to_string(getpid()));
    LateFolder() { fs::create_directories(path); }
    ~LateFolder() { fs::remove_all(path); }
    LateFolder(const LateFolder&) = delete;
    LateFolder& operator=(const LateFolder&) = delete;

    [[nodiscard]] fs::path with(const std::string& text) const {
        std::ofstream(path / "due.toml") << text;
        return path / "due.toml";
    }
};

Moment moment(std::int64_t since_1970_s) {
    return Moment(seconds(since_1970_s));
}

Grade passed(const std::string& submission, const std::string& exercise, double points) {
    return {{"exercise", exercise},   {"status", "pass"},    {"submission", {{"id", submission}}},
            {"score", points},        {"max_score", points}, {"seeds", {1}},
            {"tests", Grade::array()}};
}

constexpr std::int64_t kDueS = 1'796'165'940;  // 2026-12-01T23:59:00+01:00
constexpr std::int64_t kDayS = 86'400;

}  // namespace

TEST_CASE("a day late begins a second after it was due, in any zone; some have other dates") {
    const LateFolder folder;
    const Due due =
        read_due(folder.with("due = 2026-12-01T23:59:00+01:00\nlost_per_day = 20\n"
                             "[exceptions]\nada = 2026-12-03T22:59:00Z\n"));
    CHECK(due.days_late("bob", moment(kDueS - 5 * kDayS)) == 0);
    CHECK(due.days_late("bob", moment(kDueS)) == 0);
    CHECK(due.days_late("bob", moment(kDueS + 1)) == 1);
    CHECK(due.days_late("bob", moment(kDueS + kDayS)) == 1);
    CHECK(due.days_late("bob", moment(kDueS + kDayS + 1)) == 2);
    CHECK(due.days_late("ada", moment(kDueS + 2 * kDayS)) == 0);
    CHECK(due.days_late("ada", moment(kDueS + 2 * kDayS + 1)) == 1);
    CHECK(due.left_after(0) == 1);
    CHECK(due.left_after(2) == 0.6);
    CHECK(due.left_after(7) == 0);
}

TEST_CASE("without lost_per_day, nothing counts that is late") {
    const LateFolder folder;
    const Due due = read_due(folder.with("due = 2026-12-01T23:59:00+01:00\n"));
    CHECK(due.left_after(0) == 1);
    CHECK(due.left_after(1) == 0);
}

TEST_CASE("the raw score stays beside the one that counts; a time that is told wins over the file's"
) {
    const LateFolder folder;
    const std::optional<Due> due =
        read_due(folder.with("due = 2026-12-01T23:59:00+01:00\nlost_per_day = 25\n"
                             "[handed_in]\nada = 2026-12-01T08:00:00+01:00\n"));
    Grade bob = passed("bob", "ring_shift", 8);
    give_counted(bob, due, moment(kDueS + kDayS));
    CHECK(score_of(bob) == 8);
    CHECK(counted_of(bob) == 6);
    CHECK(bob["days_late"] == 1);
    CHECK(bob["handed_in"] == "2026-12-02T22:59:00Z");

    Grade ada = passed("ada", "ring_shift", 8);
    give_counted(ada, due, moment(kDueS + 9 * kDayS));
    CHECK(counted_of(ada) == 8);
    CHECK(ada["handed_in"] == "2026-12-01T07:00:00Z");

    Grade nobody = passed("bob", "ring_shift", 8);
    nobody["score"] = nullptr;  // through no fault of the answer
    give_counted(nobody, due, moment(kDueS + kDayS));
    CHECK(nobody["counted"].is_null());

    Grade without = bob;
    give_counted(without, std::nullopt, moment(kDueS + kDayS));
    CHECK(counted_of(without) == 8);
    CHECK_FALSE(without.contains("days_late"));

    CHECK(has(as_csv({bob}), "bob,ring_shift,pass,8,8,,,1,,6,1\n"));
    CHECK(Grade::parse(as_gradescope({bob}))["score"] == 6);
    CHECK(has(as_gradescope({bob}), "1 day late: 6 of 8 points count"));
    CHECK_FALSE(has(as_gradescope({ada}), "late"));
    CHECK(has(as_html({bob}, {}), "8 / 8<br>1 day late: 6 count"));
    tinyxml2::XMLDocument junit;
    REQUIRE(junit.Parse(as_junit({bob}).c_str()) == tinyxml2::XML_SUCCESS);
    std::vector<std::string> properties;
    for (auto* one = junit.RootElement()
                         ->FirstChildElement("testsuite")
                         ->FirstChildElement("properties")
                         ->FirstChildElement();
         one != nullptr; one = one->NextSiblingElement()) {
        properties.push_back(std::string(one->Attribute("name")) + "=" + one->Attribute("value"));
    }
    CHECK(properties == std::vector<std::string>{"seeds=1", "score=8", "max_score=8", "counted=6"});
}

TEST_CASE("a file of dates names the line that is wrong") {
    const LateFolder folder;
    const auto refused = [&](const std::string& text, const std::string& why) {
        INFO(text);
        std::string said;
        try {
            static_cast<void>(read_due(folder.with(text)));
        } catch (const UsageError& error) {
            said = error.what();
        }
        INFO(said);
        CHECK(has(said, "due.toml"));
        CHECK(has(said, why));
    };
    const std::string due = "due = 2026-12-01T23:59:00+01:00\n";
    refused("", "no line such as due = ");
    refused("due = 2026-12-01\n", ":1: due must be a time with its zone");
    refused("due = 2026-12-01T23:59:00\n", ":1: due must be a time with its zone");
    refused("due = 2026-13-01T23:59:00Z\n", ":1: ");
    refused("due = tomorrow\n", "; a time is written as 2026-");
    refused(due + "lost_per_day = 120\n", ":2: lost_per_day must be a percentage");
    refused(due + "lost_per_day = \"all\"\n", ":2: lost_per_day must be a percentage");
    refused(due + "until = 5\n", ":2: 'until' is none of");
    refused(due + "exceptions = 5\n", ":2: 'exceptions' is none of");
    refused(due + "[exceptions]\nada = 2026-12-01\n", ":3: ada must be a time with its zone");
    CHECK_THROWS_AS(read_due(folder.path / "none.toml"), UsageError);
}

TEST_CASE("files and archives say when their entries were changed") {
    const LateFolder folder;
    fs::create_directories(folder.path / "in");
    std::ofstream(folder.path / "in" / "ring_shift.cpp") << "int x;\n";
    fs::last_write_time(
        folder.path / "in" / "ring_shift.cpp",
        std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::nanoseconds>(
            seconds(kDueS) + std::chrono::milliseconds(400)
        ))
    );
    const auto changed = [](const fs::path& place) {
        std::optional<Moment> time;
        for_each_entry(place, [&](const Entry& entry) { time = entry.changed; });
        return time;
    };
    CHECK(changed(folder.path / "in") == moment(kDueS));

    const fs::path file = folder.path / "in.tar.gz";
    archive* out = archive_write_new();
    archive_write_add_filter_gzip(out);
    archive_write_set_format_pax_restricted(out);
    REQUIRE(archive_write_open_filename(out, file.c_str()) == ARCHIVE_OK);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, "ring_shift.cpp");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, 0);
    archive_entry_set_mtime(entry, kDueS + 7, 0);
    REQUIRE(archive_write_header(out, entry) == ARCHIVE_OK);
    archive_entry_free(entry);
    archive_write_free(out);
    CHECK(changed(file) == moment(kDueS + 7));
}

TEST_CASE("Canvas gets a row for each student, a column for each exercise, and what each is worth"
) {
    std::vector<Grade> records = {
        passed("lovelaceada_1234", "ring_shift", 10), passed("lovelaceada_1234", "send_recv", 5),
        passed("bob", "send_recv", 5), passed("=cmd", "send_recv", 5)};
    records[0]["counted"] = 8;
    records[0]["submission"]["canvas_id"] = records[1]["submission"]["canvas_id"] = "1234";
    for (std::size_t i = 1; i < records.size(); ++i) {
        records[i]["counted"] = records[i]["score"];
    }
    records[3]["counted"] = nullptr;
    CHECK(
        as_canvas(records) ==
        "Student,ID,SIS User ID,SIS Login ID,Section,ring_shift,send_recv\n"
        "    Points Possible,,,,,10,5\n"
        "'=cmd,,,'=cmd,,,\n"
        "bob,,,bob,,,5\n"
        "lovelaceada_1234,1234,,,,8,5\n"
    );
}

TEST_CASE("what tools for copies get has no comments, no includes and no empty lines") {
    const std::string text =
        "// who\n#include <vector>\n\nint f() {  \n    /* a\n b */ return g(\"// \\\"no "
        "comment\"); // "
        "yes\n}\n";
    CHECK(normalised(text) == "int f() {\n return g(\"// \\\"no comment\");\n}\n");
    const LateFolder folder;
    Gradebook book(folder.path / "out");
    book.write_similar(
        "ring_shift", "// stub\nint s;\n", {{"ada", text}, {"a/b, \"c\"", "int x;\n"}}
    );
    const fs::path out = folder.path / "out/similar";
    CHECK(read_text(out / "ring_shift/ada.cpp") == normalised(text));
    CHECK(read_text(out / "stubs/ring_shift.cpp") == "int s;\n");
    const std::string list = read_text(out / "ring_shift/info.csv");
    CHECK(has(list, "filename,full_name\n"));
    CHECK(has(list, "ada.cpp,ada\n"));
    CHECK(has(list, ",\"a/b, \"\"c\"\"\"\n"));
}
