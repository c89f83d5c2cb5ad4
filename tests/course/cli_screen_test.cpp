// What fits a screen, and what stands under what.
#include <algorithm>
#include <string>
#include <vector>

#include "course/cli/exercises/manifest.hpp"
#include "course/cli/report/fit.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

std::string report_of(int passes, int lines_of_failure) {
    std::string text = "  FAIL  the first\n";
    for (int i = 0; i < lines_of_failure; ++i) {
        text += "        line " + std::to_string(i) + "\n";
    }
    for (int i = 0; i < passes; ++i) {
        text += "  \033[32mpass \033[0m another\n";
    }
    return text + "\n9 passed, 1 failed\nAgain:\nStuck?\nEdit:\n";
}

}  // namespace

TEST_CASE("a report that fits stays as it is") {
    const std::string report = report_of(5, 5);
    CHECK(fitted(report, {16, 80}, "ring") == report);
}

TEST_CASE("one that is too long goes without the tests that passed") {
    const std::string report = report_of(5, 5);
    CHECK(fitted(report, {15, 80}, "ring") == report_of(0, 5));
}

TEST_CASE("one that is still too long goes without its middle, and says how to see it") {
    const std::string text = fitted(report_of(5, 50), {24, 80}, "ring");
    CHECK(std::count(text.begin(), text.end(), '\n') == 24);
    CHECK(has(text, "  FAIL  the first\n        line 0\n"));
    CHECK(has(text, "more lines: ./shardlings run ring\n"));
    CHECK(text.ends_with("Again:\nStuck?\nEdit:\n"));
}

TEST_CASE("a line that wraps takes more than one row") {
    const std::string report = "  pass  a\n" + std::string(100, 'x') + "\n";
    CHECK(fitted(report, {3, 50}, "ring") == report);
    CHECK_FALSE(has(fitted(report, {3, 40}, "ring"), "pass"));
}

TEST_CASE("the stack of an exercise is all that it uses, and nothing else") {
    Manifest manifest;
    for (const char* name : {"chunks", "shift", "tree", "ring", "mean"}) {
        manifest.exercises.emplace_back().name = name;
    }
    manifest.exercises[3].uses = {"shift", "chunks"};
    manifest.exercises[4].uses = {"ring"};
    std::vector<std::string> names;
    for (const Exercise* exercise : manifest.stack_of({"mean"})) {
        names.push_back(exercise->name);
    }
    CHECK(names == std::vector<std::string>{"chunks", "shift", "ring", "mean"});
}
