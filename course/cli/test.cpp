// test: whether all of this works on this machine; with --all, whether everything holds.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/check/series.hpp"
#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct PartResult {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
    int left_out = 0;   // what --all would try as well
    int survivors = 0;  // changes of references that their tests do not refuse
};

/// What a part leaves behind that can be counted.
enum class Document { check, junit, none };

struct Part {
    std::string name;
    std::string heading;
    std::vector<std::string> command;
    Document document = Document::none;  // of `.shardlings/test/NAME.json` or `.xml`
    Environment environment = {};
};

/// An older processor, as LibTorch and oneDNN see it.
using Processor = std::pair<std::string, std::string>;
constexpr std::array<std::array<const char*, 2>, 4> kProcessors = {
    {{"ATEN_CPU_CAPABILITY", "default"},
     {"ATEN_CPU_CAPABILITY", "avx2"},
     {"DNNL_MAX_CPU_ISA", "AVX2"},
     {"DNNL_MAX_CPU_ISA", "SSE41"}}};

/// How many days since 1970: what --all cannot do in one go, it does another part of each day.
int today() {
    const auto day = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    return static_cast<int>(day.time_since_epoch().count());
}

/// The one that --all takes today: another one each day. None where the environment names one.
std::optional<Processor> older_processor() {
    for (const auto& [name, value] : kProcessors) {
        if (std::getenv(name) != nullptr) {
            return std::nullopt;
        }
    }
    const auto& [name, value] = kProcessors.at(static_cast<std::size_t>(today()) % 4);
    return Processor{name, value};
}

std::string file_of(const std::string& name, const char* kind) {
    return fmt::format(".shardlings/test/{}.{}", name, kind);
}

/// The course's own tests that have `label`.
Part unit_tests(const Context& context, const std::string& label) {
    const std::string file = (context.root / file_of("unit", "xml")).string();
    return {
        "unit",
        "The course's own tests",
        {"ctest", "--preset", "release", "-L", label, "--parallel", "2", "--output-junit", file},
        Document::junit};
}

std::vector<Part> quick_parts(const Context& context) {
    const std::string self = (context.root / "shardlings").string();
    return {
        unit_tests(context, "quick"),
        {"check",
         "Every exercise: stub and solution; every verdict that a test can have",
         {self, "check", "--json"},
         Document::check}};
}

/// All at once would take hours: a week tries all other answers, a fortnight all solutions under sanitizers.
constexpr int kWeek = 7;
constexpr int kDays = 2 * kWeek;

/// The longest of the course's own tests have one of these labels each: turn_1, turn_2, turn_3.
constexpr int kTurns = 3;

Share share_of_today() {
    return {.which = today() % kDays + 1, .of = kDays};
}

/// "the solutions", or "3/14 of the solutions".
std::string part_of(const Share& share, const std::string& all) {
    return share.of == 1 ? all : fmt::format("{}/{} of {}", share.which, share.of, all);
}

Part unit_tests_of(const Context& context, const Share& share) {
    Part part = unit_tests(context, "course");
    if (share.of > 1) {
        const int turn = (share.which - 1) % kTurns + 1;
        part.heading += fmt::format(", of the longest those of turn {} of {}", turn, kTurns);
        part.command.insert(part.command.end(), {"-LE", fmt::format("turn_[^{}]", turn)});
    }
    return part;
}

void name_exercises(const Context& context, const Share& share, Part& part) {
    int place = 0;
    for (const Exercise& exercise : read_manifest(context.root).exercises) {
        if (share.has(place++)) {
            part.command.push_back(exercise.name);
        }
    }
}

Part sanitizers_of(const Context& context, const Share& share) {
    Part part = {
        "sanitizers",
        part_of(share, "the solutions") +
            " with a second seed, under the address and undefined-behaviour sanitizers",
        {(context.root / "shardlings").string(), "--preset", "debug", "check", "--no-stubs",
         "--seed", "2", "--json"},
        Document::check};
    name_exercises(context, share, part);
    return part;
}

/// Other changes each day. Not every exercise has been scored yet: so a change that passes is something to look at, and no failure.
Part single_changes(const Context& context, const Share& share) {
    Part part = {
        "score",
        "Three single changes of " + part_of(share, "the solutions") +
            ": those that pass are to be looked at, and fail nothing",
        {(context.root / "shardlings").string(), "check", "--score", "--sample", "3", "--seed",
         std::to_string(today()), "--json"},
        Document::check};
    name_exercises(context, share, part);
    return part;
}

std::vector<Part> all_parts(const Context& context, const Share& share) {
    const std::string self = (context.root / "shardlings").string();
    const Share answers =
        share.of == 1 ? share : Share{.which = (share.which - 1) % kWeek + 1, .of = kWeek};
    const std::string text = fmt::format("{}/{}", answers.which, answers.of);
    std::vector<Part> parts = {
        unit_tests_of(context, share),
        {"check",
         "Every exercise: stub, solution, and " +
             part_of(answers, "other answers, wrong and right"),
         {self, "check", "--mutants", "--share", text, "--json"},
         Document::check},
        sanitizers_of(context, share),
        {"documents",
         "Outputs shown in README and lessons",
         {"bash", "tests/course/lessons_test.sh"}},
        {"format", "Layout", {"bash", "scripts/check_format.sh"}},
    };
    if (const auto processor = older_processor()) {
        for (Part& part : parts) {
            if (part.name != "check" && part.name != "format") {
                part.heading += fmt::format(
                    ", on an older processor ({}={})", processor->first, processor->second
                );
                part.environment = {*processor};
            }
        }
    }
    parts.push_back(single_changes(context, share));
    return parts;
}

/// A number of the first <testsuite> in ctest's document: NAME="12".
int attribute(const std::string& xml, const std::string& name) {
    const std::string suite = xml.substr(0, xml.find("<testcase"));
    const std::size_t at = suite.find(name + "=\"");
    return at == std::string::npos ? 0 : std::atoi(suite.c_str() + at + name.size() + 2);
}

/// From the part's document; a part without one is one thing that holds or does not, and is no test.
/// A part that failed without saying where counts as one failure.
PartResult counts_of(const Context& context, const Part& part, int status) {
    PartResult counts;
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
                document.value("skipped", 0), document.value("left_out", 0),
                document.value("survivors", 0)};
        }
    }
    if (status != 0 && status != exit_status::kSkipped && counts.failed == 0 &&
        counts.survivors == 0) {
        counts.failed = 1;
    }
    return counts;
}

// Errors  Interrupted
PartResult run_part(Context& context, const Part& part) {
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
    options.environment = part.environment;
    const Ended ended = run(context, command, options);
    const PartResult counts = counts_of(context, part, ended.status);
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

/// How many of the course's own tests have `label`.
int tests_with(Context& context, const std::string& label) {
    const std::string listed =
        run(context, {"ctest", "--preset", "release", "-N", "-L", label}).output;
    const std::string words = "Total Tests: ";
    const std::size_t at = listed.find(words);
    return at == std::string::npos ? 0 : std::atoi(listed.c_str() + at + words.size());
}

/// The share of a run of --all: "3/14", or "all". Empty: today's.
Share share_wanted(const std::string& text) {
    if (text.empty()) {
        return share_of_today();
    }
    const Share share = text == "all" ? Share{} : share_named(text);
    if (share.of != 1 && share.of != kDays) {
        throw UsageError(
            fmt::format("--share {}: it is 1/{} to {}/{}, or all", text, kDays, kDays, kDays)
        );
    }
    return share;
}

void test(Context& context, bool all, const std::string& share) {
    if (!all && !share.empty()) {
        throw UsageError("--share goes with --all");
    }
    const std::vector<Part> parts =
        all ? all_parts(context, share_wanted(share)) : quick_parts(context);
    fs::create_directories(context.root / ".shardlings" / "test");
    ensure_torch(context);
    try {
        install(context, all ? "test" : "grade");
        if (all) {
            ensure_simgrid(context);
        }
    } catch (const CommandError&) {
        fmt::print(stderr, "Without them, some tests are skipped.\n");
    }
    fmt::print("Building the course's own tests\n");
    build_targets(context, {all ? "course_tests" : "quick_tests"});

    PartResult sum;
    for (const Part& part : parts) {
        const PartResult counts = run_part(context, part);
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
        sum.left_out += counts.left_out;
        sum.survivors += counts.survivors;
    }
    fmt::print("\n");
    print_slowest(context);
    for (const auto& [part, seconds] : context.spent_s) {
        fmt::print("{} {:.0f} s\n", part, seconds);
    }
    if (!all) {
        fmt::print(
            "./shardlings test --all adds {} longer tests of the course, {} other answers, right "
            "and wrong (a seventh of them each day), solutions under sanitizers, "
            "and the lessons' outputs. It takes about 40 minutes on two cores.\n",
            tests_with(context, "course") - tests_with(context, "quick"), sum.left_out
        );
    }
    if (sum.survivors > 0) {
        fmt::print("{} changes of solutions pass: look at them, above\n", sum.survivors);
    }
    fmt::print("{} passed, {} failed, {} skipped\n", sum.passed, sum.failed, sum.skipped);
    context.status = sum.failed == 0 ? exit_status::kDone : exit_status::kFailed;
}

}  // namespace

void add_test(Command& app, Context& context) {
    auto command = app.add_subcommand("test", "Test whether the course works on this machine");
    auto all = std::make_shared<bool>(false);
    command.add_flag(
        "--all", *all,
        "For authors: also the long tests, the lessons' outputs, solutions under sanitizers, and "
        "the known other answers, wrong and right, of which each day has another seventh"
    );
    auto share = std::make_shared<std::string>();
    command.add_option(
        "--share", *share,
        "With --all: 3/14 for the third of the 14 shares, or all (by itself: today's)"
    );
    command.callback([&context, all, share] { test(context, *all, *share); });
}

}  // namespace dist::cli
