// test: everything that has to hold before the course may change.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct Counts {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
};

/// What a part leaves behind that can be counted.
enum class Document { check, junit, none };

struct Part {
    std::string name;
    std::string heading;
    std::vector<std::string> command;
    Document document = Document::none;  // of `.shardlings/test/NAME.json` or `.xml`
};

std::string file_of(const std::string& name, const char* kind) {
    return fmt::format(".shardlings/test/{}.{}", name, kind);
}

std::vector<Part> parts(const Context& context) {
    const std::string self = (context.root / "shardlings").string();
    const std::string units = (context.root / file_of("unit", "xml")).string();
    return {
        {"unit",
         "The course's own tests",
         {"ctest", "--preset", "release", "-L", "course", "--parallel", "2", "--output-junit",
          units},
         Document::junit},
        {"check",
         "Every exercise: stub, solution, known wrong answers",
         {self, "check", "--mutants", "--json"},
         Document::check},
        {"sanitizers",
         "Every solution with a second seed, under the address and undefined-behaviour sanitizers",
         {self, "--preset", "debug", "check", "--no-stubs", "--seed", "2", "--json"},
         Document::check},
        {"documents",
         "Outputs shown in README and lessons",
         {"bash", "tests/course/lessons_test.sh"}},
        {"format", "Layout", {"bash", "scripts/check_format.sh"}},
    };
}

/// A number of the first <testsuite> in ctest's document: NAME="12".
int attribute(const std::string& xml, const std::string& name) {
    const std::string suite = xml.substr(0, xml.find("<testcase"));
    const std::size_t at = suite.find(name + "=\"");
    return at == std::string::npos ? 0 : std::atoi(suite.c_str() + at + name.size() + 2);
}

/// From the part's document; a part without one is one thing that holds or does not, and is no test.
/// A part that failed without saying where counts as one failure.
Counts counts_of(const Context& context, const Part& part, int status) {
    Counts counts;
    if (part.document == Document::junit) {
        const std::string xml = read_text(context.root / file_of(part.name, "xml"));
        counts.failed = attribute(xml, "failures");
        counts.skipped = attribute(xml, "skipped") + attribute(xml, "disabled");
        counts.passed = attribute(xml, "tests") - counts.failed - counts.skipped;
    } else if (part.document == Document::check) {
        const std::string text = read_text(context.root / file_of(part.name, "json"));
        const auto document = nlohmann::json::parse(text, nullptr, false);
        if (document.is_object()) {
            counts = {
                document.value("passed", 0), document.value("failed", 0),
                document.value("skipped", 0)};
        }
    }
    if (status != 0 && status != exit_status::kSkipped && counts.failed == 0) {
        counts.failed = 1;
    }
    return counts;
}

// Errors  Interrupted
Counts run_part(Context& context, const Part& part) {
    fmt::print("\n{}\n", paint(part.heading, Colour::bold, use_colours()));
    std::fflush(stdout);
    // what is said is seen while it runs, and kept; a document goes to its file
    const bool document = part.document == Document::check;
    std::vector<std::string> command = {
        "bash", "-c",
        document ? R"(set -o pipefail; log=$0 file=$1; shift; { "$@" 2>&1 >"$file" | tee "$log"; })"
                 : R"(set -o pipefail; log=$0; shift; "$@" 2>&1 | tee "$log")",
        file_of(part.name, "log"), file_of(part.name, "json")};
    command.insert(command.end(), part.command.begin(), part.command.end());
    RunOptions options;
    options.attached = true;
    const Ended ended = run(context, command, options);
    const Counts counts = counts_of(context, part, ended.status);
    if (part.document == Document::none) {
        fmt::print(
            "{}: {} [{:.0f} s]\n", part.name, counts.failed == 0 ? "holds" : "FAILED", ended.seconds
        );
    } else {
        fmt::print(
            "{}: {} passed, {} failed, {} skipped [{:.0f} s]\n", part.name, counts.passed,
            counts.failed, counts.skipped, ended.seconds
        );
    }
    context.spend(part.name, ended.seconds);
    return counts;
}

/// Where the time of the longest part went.
void print_slowest(const Context& context) {
    const std::string text = read_text(context.root / file_of("check", "json"));
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object()) {
        return;
    }
    fmt::print("check, by part, builds at the same time added up:\n");
    for (const auto& [part, seconds] : document["seconds"].items()) {
        fmt::print("  {:<22} {:>6.0f} s\n", part, seconds.get<double>());
    }
    fmt::print("the slowest of check, built and run:\n");
    for (const auto& one : document["slowest"]) {
        fmt::print(
            "  {:<22} {:>6.1f} s {:>6.1f} s\n", one.value("name", ""), one.value("build_s", 0.0),
            one.value("run_s", 0.0)
        );
    }
}

void test(Context& context) {
    fs::create_directories(context.root / ".shardlings" / "test");
    ensure_torch(context);
    try {
        install(context, "test");
        ensure_simgrid(context);
    } catch (const CommandError&) {
        fmt::print(stderr, "Without them, some tests are skipped.\n");
    }
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
    print_slowest(context);
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
