// Several answers in one started job: each gets the result that it gets alone, whatever those before it did.
#include "course/launch/together.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/manifest/check_files.hpp"
#include "course/manifest/manifest.hpp"
#include "course/report/report.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
namespace fs = std::filesystem;

namespace {

const SelfTest& harness_states(const Manifest& manifest) {
    return *std::ranges::find(manifest.self_tests, "harness_states", &SelfTest::program);
}

Case case_of(const std::vector<Case>& cases, const std::string& name) {
    return *std::ranges::find_if(cases, [&](const Case& one) { return one.file.stem() == name; });
}

/// A first test passed, and the second has the state and the words that the case asks for.
void check_result(const std::optional<Result>& result, const Case& expected) {
    INFO(expected.file.string());
    REQUIRE(result.has_value());
    CHECK(name_of(result->status) == name_of(expected.state));
    REQUIRE(result->tests.size() > 1);
    CHECK(result->tests.front().status == State::pass);
    const std::string text = report(*result, nullptr, false);
    for (const std::string& words : expected.says) {
        // the tests behind a wrong one are not run here
        CHECK((has(words, "after: a test that passes") || has(text, words)));
    }
}

}  // namespace

TEST_CASE("answers in one job get the results that they get alone") {
    Context context;
    context.root = REPOSITORY;
    const Manifest manifest = read_manifest(context.root);
    const SelfTest& states = harness_states(manifest);
    const Program program = program_of(states);
    const Recipe recipe = prepare(context, program);
    const std::string host = host_of(context, program);
    if (host.empty()) {
        WARN("here each answer has a job of its own: tests/harness/CMakeLists.txt says why");
        return;
    }
    build_targets(context, {host});
    const std::vector<Case> cases = read_cases(context, states.cases);
    const Case neighbour = case_of(cases, "leaves_much_behind_pass");
    std::vector<Case> tried = {neighbour};
    for (const char* const name :
         {"deadlock_of_two", "crash_by_null_pointer", "message_left_unread", "stack_overflow",
          "communicator_never_freed", "exit_0", "exit_before_main", "endless_loop", "abort_0",
          "exception_on_one_rank", "forbidden_call"}) {
        tried.push_back(case_of(cases, name));
        tried.push_back(neighbour);
    }
    std::vector<Together> answers;
    for (const Case& one : tried) {
        const fs::path as = context.root / one.file;
        const auto before = std::ranges::find(answers, as, &Together::as);
        LaunchOptions options;
        options.compute_s = 3;
        options.enough = [](const Result& /*result*/) { return true; };
        const fs::path library =
            before != answers.end()
                ? before->library
                : link_library(context, recipe, compile_as(context, recipe, as)).library;
        answers.push_back({as, library, options});
    }

    const std::vector<std::optional<Result>> results = launch_together(context, program, answers);

    REQUIRE(results.size() == tried.size());
    for (std::size_t i = 0; i < tried.size(); ++i) {
        if (tried[i].file.stem() == "exit_before_main") {
            CHECK_FALSE(results[i].has_value()
            );  // it never came to its tests: it is to be run alone
        } else {
            check_result(results[i], tried[i]);
        }
    }
}
