// check --score: which changes are tried, and what comes of each.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/check/changes.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
namespace fs = std::filesystem;

namespace {

std::string path_of_programs() {
    const char* const path = std::getenv("PATH");
    return path == nullptr ? "" : path;
}

/// A checkout with one solution, and a folder in which a `mutate` may be that makes changes by sed.
class Checkout {
  public:
    Checkout() {
        context.root = fs::temp_directory_path() / ("score-" + std::to_string(getpid()));
        write(exercise.solution(), "int a = 1;\nint b = 2;\nint c = 3;\n");
    }
    ~Checkout() { fs::remove_all(context.root); }
    Checkout(const Checkout&) = delete;
    Checkout& operator=(const Checkout&) = delete;
    Checkout(Checkout&&) = delete;
    Checkout& operator=(Checkout&&) = delete;

    void write(const fs::path& file, const std::string& text) const {
        fs::create_directories((context.root / file).parent_path());
        std::ofstream(context.root / file) << text;
    }
    void equal(const std::string& text) const {
        write("tests/mutants/01_point_to_point/sum.toml", text);
    }
    /// The PATH on which `mutate SOURCE ... --mutantDir FOLDER` makes these changes.
    [[nodiscard]] std::string path_with(const std::vector<std::string>& changes) const {
        std::string script = "#!/bin/sh\nfor folder in \"$@\"; do :; done\n";
        for (const std::string& change : changes) {
            script += "n=$((n + 1)); sed '" + change + "' \"$1\" >\"$folder/change.$n.cpp\"\n";
        }
        write("bin/mutate", script);
        fs::permissions(context.root / "bin/mutate", fs::perms::owner_all);
        return (context.root / "bin").string() + ":" + path_of_programs();
    }

    Context context;
    Exercise exercise{
        .name = "sum", .chapter = "01_point_to_point", .title = "", .uses = {}, .hints = {}};
};

class Path {
  public:
    explicit Path(const std::string& path) : before_(path_of_programs()) {
        setenv("PATH", path.c_str(), 1);
    }
    ~Path() { setenv("PATH", before_.c_str(), 1); }
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;
    Path(Path&&) = delete;
    Path& operator=(Path&&) = delete;

  private:
    std::string before_;
};

std::vector<std::size_t> lines(const std::vector<SingleChange>& changes) {
    std::vector<std::size_t> lines;
    std::ranges::transform(changes, std::back_inserter(lines), &SingleChange::line);
    return lines;
}

std::string error_of(const Checkout& checkout) {
    try {
        equal_programs(checkout.context, checkout.exercise);
    } catch (const CommandError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a change is shown with one line around it") {
    const SingleChange middle = change_of("sum.cpp", "a\nb\nc\nd\n", "a\nb\nx\nd\n");
    CHECK(middle.line == 3);
    CHECK(middle.difference == "--- sum.cpp\n+++ change\n@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
    CHECK(has(
        change_of("sum.cpp", "a\nb\nc\n", "x\nb\nc\n").difference, "@@ -1,2 +1,2 @@\n-a\n+x\n b\n"
    ));
    CHECK(has(
        change_of("sum.cpp", "a\nb\nc\n", "a\nb\nx\n").difference, "@@ -2,2 +2,2 @@\n b\n-c\n+x\n"
    ));
}

TEST_CASE("a seed draws the order of changes, in which each keeps its place when others come") {
    const Checkout checkout;
    const auto drawn = [&](std::uint64_t seed, const std::vector<std::string>& changes) {
        const Path path(checkout.path_with(changes));
        return lines(changes_of(checkout.context, checkout.exercise, seed));
    };
    const std::vector<std::string> all = {"1s/1/9/", "2s/2/9/", "3s/3/9/"};
    std::set<std::vector<std::size_t>> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<std::size_t> order = drawn(seed, all);
        CHECK(order.size() == 3);
        CHECK(drawn(seed, all) == order);
        orders.insert(order);
        std::erase(order, 1);
        CHECK(drawn(seed, {"2s/2/9/", "3s/3/9/"}) == order);
        CHECK(drawn(seed, {"3s/3/9/", "2s/2/9/"}) == order);
    }
    CHECK(orders.size() > 1);
}

TEST_CASE("without the tool one line says how to get it") {
    const Checkout checkout;
    {
        const Path path(checkout.path_with({}));
        CHECK(mutator_missing(checkout.context).empty());
    }
    const Path path("/usr/bin:/bin");
    CHECK(has(mutator_missing(checkout.context), "pip install universalmutator"));
}

TEST_CASE("changes that are equal programs are listed with a reason") {
    const Checkout checkout;
    CHECK(equal_programs(checkout.context, checkout.exercise).empty());
    checkout.equal(
        "[[mutant]]\nfrom = 1\n[[equal]]\nfrom = 'b = 2'\nto = 'b = 02'\nwhy = 'the same number'\n"
    );
    const auto programs = equal_programs(checkout.context, checkout.exercise);
    CHECK(programs == std::set<std::string>{"int a = 1;\nint b = 02;\nint c = 3;\n"});

    checkout.equal("[[equal]]\nfrom = 'int'\nto = 'long'\nwhy = 'wide enough'\n");
    CHECK(has(error_of(checkout), "sum.toml: the equal change of 'int': that does not stand in"));
    checkout.equal("[[equal]]\nfrom = 'd = 4'\nto = 'd'\nwhy = 'gone'\n");
    CHECK(has(error_of(checkout), "'d = 4'"));
    checkout.equal("[[equal]]\nfrom = 'b = 2'\nto = 'b = 02'\nwhy = ''\n");
    CHECK(has(error_of(checkout), "'b = 2' does not say why"));
    checkout.equal("[[equal]]\nfrom = 'b = 2'\nto = 'b = 02'\n");
    CHECK(has(error_of(checkout), "sum.toml:1: [[sum.equal]] has no field 'why'"));
    checkout.equal("[[equal]\n");
    CHECK(has(error_of(checkout), "sum.toml: line 1"));
}

TEST_CASE("a score tries what compiles to other code, and shows what passes") {
    const Checkout checkout;
    RunOptions options;
    options.environment = {
        {"SHARDLINGS_ROOT", REPOSITORY},
        {"PATH", checkout.path_with(
                     {"s/n % parts/n * parts/",                   // refused
                      "s/longer/more/g",                          // the same code
                      "s/n % parts/n * parts/; s/longer/more/g",  // the code of the first
                      "s/n % parts/n % /",                        // does not compile
                      "s/const std::size_t length/volatile std::size_t length/",  // passes
                      "s/p >= 1,/p >= (1 - 1),/"}  // is listed as equal
                 )}};
    Context context;
    context.root = REPOSITORY;
    const Ended ended =
        run(context, {SHARDLINGS_CLI, "check", "chunk_bounds", "--score", "--json"}, options);
    INFO(ended.output);
    CHECK(ended.status == exit_status::kFailed);
    const std::size_t begin = ended.output.find("{\"passed\"");
    REQUIRE(begin != std::string::npos);
    const auto document = nlohmann::json::parse(ended.output.substr(begin));
    CHECK(document["survivors"] == 1);
    const auto& one = document["exercises"][0];
    CHECK(one["tried"] == 2);
    CHECK(one["refused"] == 1);
    CHECK(one["equal"] == 1);
    const std::string shown = one["survivors"][0]["difference"];
    CHECK(has(shown, "\n-    const std::size_t length = n / parts;\n"));
    CHECK(has(ended.output, "chunk_bounds.cpp:13 passes all tests, changed:\n" + shown));
}
