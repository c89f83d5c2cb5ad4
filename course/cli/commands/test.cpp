// test: everything that has to hold before the course may change.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <regex>
#include <string>
#include <vector>

#include "course/cli/build/build.hpp"
#include "course/cli/build/setup.hpp"
#include "course/cli/commands/command.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/files.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/cli/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct Counts {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
};

struct Part {
    std::string name;
    std::string heading;
    std::vector<std::string> command;
};

std::vector<Part> parts(const Context& context) {
    const std::string self = (context.root / "shardlings").string();
    return {
        {"unit", "The course's own tests", {"ctest", "--preset", "release", "-L", "course"}},
        {"check",
         "Every exercise: stub, solution with two seeds, known wrong answers",
         {self, "check", "--mutants", "--seeds", "2"}},
        {"sanitizers",
         "Every solution under the address and undefined-behaviour sanitizers",
         {self, "--preset", "debug", "check"}},
        {"documents",
         "Outputs shown in README and lessons",
         {"bash", "tests/course/lessons_test.sh"}},
        {"format", "Layout", {"bash", "scripts/check_format.sh"}},
    };
}

int number(const std::ssub_match& text) {
    return text.matched ? std::atoi(text.str().c_str()) : 0;
}

// What a part counted, by its own last words: "N passed, N failed, N skipped", or ctest's. A part
// that failed without saying so counts as one failure.
Counts counts_of(const std::string& log, int status) {
    Counts counts;
    std::smatch found;
    const std::regex ours(R"((\d+) passed, (\d+) failed(?:, (\d+) skipped)?)");
    const std::regex ctest(R"((\d+)% tests passed, (\d+) tests failed out of (\d+))");
    if (std::regex_search(log, found, ctest)) {
        const std::regex skip(R"(\*\*\*(Skipped|Not Run))");
        counts.failed = number(found[2]);
        counts.skipped =
            static_cast<int>(std::distance(std::sregex_iterator(log.begin(), log.end(), skip), {}));
        counts.passed = number(found[3]) - counts.failed - counts.skipped;
    } else {
        for (std::sregex_iterator at(log.begin(), log.end(), ours), end; at != end; ++at) {
            counts = {number((*at)[1]), number((*at)[2]), number((*at)[3])};
        }
    }
    if (status != 0 && status != exit_status::kSkipped && counts.failed == 0) {
        counts.failed = 1;
    }
    return counts;
}

// Errors  Interrupted
Counts run_part(Context& context, const Part& part) {
    const std::string log = fmt::format(".shardlings/test/{}.log", part.name);
    fmt::print("\n{}\n", paint(part.heading, Colour::bold, use_colours()));
    // seen while it runs, and kept
    std::vector<std::string> command = {
        "bash", "-c", R"(set -o pipefail; "$@" 2>&1 | tee "$0")", log};
    command.insert(command.end(), part.command.begin(), part.command.end());
    RunOptions options;
    options.attached = true;
    const Ended ended = run(context, command, options);
    const Counts counts = counts_of(read_text(context.root / log), ended.status);
    fmt::print(
        "{}: {} passed, {} failed, {} skipped [{:.0f} s]\n", part.name, counts.passed,
        counts.failed, counts.skipped, ended.seconds
    );
    context.spend(part.name, ended.seconds);
    return counts;
}

void test(Context& context) {
    fs::create_directories(context.root / ".shardlings" / "test");
    ensure_torch(context);
    fmt::print("Building the course's own tests\n");
    build_targets(context, {"course_tests"});

    Counts sum;
    for (const Part& part : parts(context)) {
        const Counts counts = run_part(context, part);
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
    }
    fmt::print("\n");
    for (const auto& [part, seconds] : context.spent_s) {
        fmt::print("{} {:.0f} s\n", part, seconds);
    }
    fmt::print("{} passed, {} failed, {} skipped\n", sum.passed, sum.failed, sum.skipped);
    context.status = sum.failed == 0 ? exit_status::kDone : exit_status::kFailed;
}

}  // namespace

void add_test(Command& app, Context& context) {
    auto command = app.add_subcommand("test", "Everything that has to hold; for authors");
    command.callback([&context] { test(context); });
}

}  // namespace dist::cli
