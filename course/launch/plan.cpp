#include "course/launch/plan.hpp"

#include <algorithm>

#include "course/process/files.hpp"
#include "course/protocol/protocol.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// Reads string literals that stand side by side as the one that they make; leaves `at` behind them.
std::string literal(const std::string& text, std::size_t& at) {
    std::string value;
    at = text.find('"', at);
    while (at < text.size() && text[at] == '"') {
        for (++at; at < text.size() && text[at] != '"'; ++at) {
            at += text[at] == '\\' ? 1 : 0;
            value += at < text.size() ? text[at] : ' ';
        }
        at = text.find_first_not_of(" \n\r\t", at + 1);
    }
    at = std::min(at, text.size());
    return value;
}

}  // namespace

fs::path test_file_of(const Program& program) {
    return fs::path("tests") / program.source.parent_path().filename() /
           (program.name + "_test.cpp");
}

std::vector<PlannedTest> tests_in(const fs::path& file) {
    const std::string text = read_text(file);
    std::vector<PlannedTest> tests;
    for (std::size_t at = text.find("\nTEST_CASE("); at != std::string::npos;
         at = text.find("\nTEST_CASE(", at)) {
        PlannedTest& test = tests.emplace_back();
        test.name = literal(text, at);
        if (at < text.size() && text[at] == ',') {
            test.many = literal(text, at).find("[many]") != std::string::npos;
        }
    }
    return tests;
}

std::vector<std::string> plan_of(
    const std::vector<PlannedTest>& tests, const LaunchOptions& options, const std::string& after
) {
    const auto named = [](const std::string& name) {
        return [&name](const PlannedTest& test) { return test.name == name; };
    };
    const bool whole = std::any_of(tests.begin(), tests.end(), named(options.test));
    auto first = tests.begin();
    if (!after.empty()) {
        const auto last = std::find_if(first, tests.end(), named(after));
        first = last == tests.end() ? last : last + 1;
    }
    std::vector<std::string> plan;
    for (auto test = first; test != tests.end(); ++test) {
        const bool asked =
            whole ? test->name == options.test : test->name.find(options.test) != std::string::npos;
        const bool here =
            options.many ? test->many : !test->many || options.ranks == harness::kManyRanks;
        if (asked && here) {
            plan.push_back(test->name);
        }
    }
    return plan;
}

}  // namespace dist::cli
