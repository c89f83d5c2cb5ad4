#include "course/launch/plan.hpp"

#include <algorithm>
#include <set>

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

/// Adds the tests of a file, and of those that it includes from its own folder, where it includes them; each file once.
void add_tests(const fs::path& file, std::set<fs::path>& seen, std::vector<PlannedTest>& tests) {
    if (!seen.insert(file).second) {
        return;
    }
    const std::string text = read_text(file);
    const std::string folder = file.parent_path().filename().string();
    const std::string include = "\n#include \"tests/" + folder + "/";
    const std::string begin = "\nTEST_CASE(";
    for (std::size_t at = 0;;) {
        const std::size_t test = text.find(begin, at);
        const std::size_t header = text.find(include, at);
        at = std::min(test, header);
        if (at == std::string::npos) {
            return;
        }
        const std::string name = literal(text, at);
        if (header < test) {
            add_tests(file.parent_path() / fs::path(name).filename(), seen, tests);
            at = header + include.size();
            continue;
        }
        const bool has_tags = at < text.size() && text[at] == ',';
        tests.push_back({name, has_tags && literal(text, at).find("[many]") != std::string::npos});
    }
}

}  // namespace

fs::path test_file_of(const Program& program) {
    return fs::path("tests") / program.source.parent_path().filename() /
           (program.name + "_test.cpp");
}

std::vector<PlannedTest> tests_in(const fs::path& file) {
    std::set<fs::path> seen;
    std::vector<PlannedTest> tests;
    add_tests(file, seen, tests);
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
