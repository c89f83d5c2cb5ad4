// What fits a screen, and what stands under what.
#include <algorithm>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/report/fit.hpp"
#include "course/report/fold.hpp"
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

TEST_CASE("help goes on below where an option is described, and never inside a word") {
    const std::string option = "  --as TEXT                   Use this file in the place of it\n";
    CHECK(folded_help(option, 80) == option);
    CHECK(
        folded_help(option, 50) ==
        "  --as TEXT                   Use this file in the\n"
        "                              place of it\n"
    );
    const std::string more = std::string(30, ' ') + "and more words\n";
    CHECK(
        folded_help(more, 40) ==
        std::string(30, ' ') + "and more\n" + std::string(30, ' ') + "words\n"
    );
    CHECK(folded_help("A sentence of the help\n", 12) == "A sentence\nof the help\n");
    CHECK(folded_help("  ddp      each bucket\n", 18) == "  ddp      each\n    bucket\n");
}

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

TEST_CASE("what is left out is counted in whole lines, and none is cut in two") {
    std::string report = "  FAIL  the first\n";
    for (int i = 0; i < 20; ++i) {
        report += "        a sentence that takes two rows of a window of forty\n";
    }
    const std::string text =
        fitted(report + "\n0 passed\nAgain:\nStuck?\nEdit:\n", {24, 40}, "ring");
    CHECK(has(text, "two rows\n          of a window of forty\n        ... 12 more lines:\n"));
    CHECK(has(text, "        ./shardlings run ring\n\n0 passed\n"));
}

TEST_CASE("a line that is too long goes on between words, under its second column") {
    CHECK(folded("  four words, no column\n", 14) == "  four words,\n    no column\n");
    CHECK(folded("Read:  a b c d e f g h i j k\n", 22) == "Read:  a b c d e f g h\n       i j k\n");
    CHECK(folded("all of it fits\n", 14) == "all of it fits\n");
    CHECK(
        folded(std::string(300, 'x') + " y\n", std::string::npos) == std::string(300, 'x') + " y\n"
    );
}

TEST_CASE("colours and letters of several bytes take no room of their own") {
    const std::string line = "  \033[31mFAIL \033[0m caf\u00e9 au lait\n";
    CHECK(folded(line, 20) == line);
    CHECK(folded(line, 19) == "  \033[31mFAIL \033[0m caf\u00e9 au\n    lait\n");
    CHECK(folded(line, 26) == line);
}

TEST_CASE("a path that is longer than a line goes on behind a slash") {
    CHECK(
        folded("Edit:  exercises/03_ring_and_tree/ring_reduce.cpp\n", 36) ==
        "Edit:  exercises/03_ring_and_tree/\n       ring_reduce.cpp\n"
    );
}

TEST_CASE("a path far from its label has lines of its own") {
    CHECK(
        folded("Edit:             exercises/03_ring_and_tree/ring_reduce.cpp\n", 40) ==
        "Edit:\n  exercises/03_ring_and_tree/\n  ring_reduce.cpp\n"
    );
}

TEST_CASE("a command stays whole, to be copied") {
    const std::string command = "./shardlings run ring --test 'a b c d e f'";
    CHECK(folded("Again:  " + command + "\n", 44) == "Again:\n  " + command + "\n");
    CHECK(folded("Again:  " + command + "\n", 20) == "Again:\n  " + command + "\n");
    CHECK(folded("One way: ./shardlings list\n", 22) == "One way:\n  ./shardlings list\n");
}

TEST_CASE("of a quoted source line what is around the mark stays, with the mark under it") {
    const std::string code = "   12 | " + std::string(50, 'a') + "bcd\n";
    const std::string mark = "      | " + std::string(50, ' ') + "^~~\n";
    const std::string before(11, ' ');
    CHECK(
        folded("error: b\n" + code + mark, 30) ==
        "error: b\n   12 | " + std::string(11, 'a') + "bcd\n      | " + before + "^~~\n"
    );
    CHECK(folded(code + mark, 80) == code + mark);
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
