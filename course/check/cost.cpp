#include "course/check/cost.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <vector>

#include "course/manifest/cases.hpp"
#include "course/manifest/check_files.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array kParts = {"header",   "stub",         "solution", "test",   "mutants",
                               "(number)", "alternatives", "together", "lesson", "entry"};
using Cost = std::array<long, kParts.size()>;  // lines, but for the number of mutants

long count_lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

/// Of a list and of the folder beside it.
long lines_in(const Context& context, const fs::path& folder) {
    long lines = count_lines(read_text(context.root / (folder.string() + ".toml")));
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(context.root / folder, absent)) {
        lines += count_lines(read_text(entry.path()));
    }
    return lines;
}

/// Lines from the one that is `first` to the next that begins with `begin`.
long section(const std::string& text, const std::string& first, const std::string& begin) {
    std::istringstream lines(text);
    long count = 0;
    for (std::string line; std::getline(lines, line);) {
        if (count > 0 && line.starts_with(begin)) {
            break;
        }
        count += count > 0 || line == first ? 1 : 0;
    }
    return count;
}

/// Lines of the exercise's entry in the list: the header of the entry stands above its name.
long entry(const std::string& list, const std::string& name) {
    return 1 + section(list, fmt::format("name = \"{}\"", name), "[");
}

/// Lines of a test, and of what it includes from its own folder, shared out among the tests that do.
long count_lines_of_test(const Context& context, const Exercise& exercise) {
    const fs::path folder = exercise.test().parent_path();
    std::vector<std::string> tests;
    for (const auto& entry : fs::directory_iterator(context.root / folder)) {
        if (entry.path().extension() == ".cpp") {
            tests.push_back(read_text(entry.path()));
        }
    }
    const std::string own = read_text(context.root / exercise.test());
    long lines = count_lines(own);
    for (const auto& entry : fs::directory_iterator(context.root / folder)) {
        const fs::path header = folder / entry.path().filename();
        const std::string include = fmt::format("#include \"{}\"", header.string());
        if (own.find(include) != std::string::npos) {
            lines += count_lines(read_text(entry.path())) /
                     std::ranges::count_if(tests, [&](const std::string& test) {
                         return test.find(include) != std::string::npos;
                     });
        }
    }
    return lines;
}

Cost cost_of(const Context& context, const Exercise& exercise) {
    const auto lines = [&](const fs::path& file) {
        return count_lines(read_text(context.root / file));
    };
    Cost cost = {
        lines(exercise.header()),
        count_lines(stub_text(context, exercise)),
        lines(exercise.solution()),
        count_lines_of_test(context, exercise),
        lines_in(context, exercise.mutants()),
        static_cast<long>(read_cases(context, exercise.mutants()).size()),
        lines_in(context, exercise.alternatives()),
        0,
        section(read_text(context.root / exercise.lesson()), "## " + exercise.name, "## "),
        entry(read_text(context.root / "exercises/course.toml"), exercise.name),
    };
    cost[7] = cost[0] + cost[1] + cost[2] + cost[3] + cost[4] + cost[6];
    return cost;
}

void print_row(const std::string& name, const Cost& cost) {
    fmt::print("{:<22}", name);
    for (const long lines : cost) {
        fmt::print(" {:>12}", lines);
    }
    fmt::print("\n");
}

}  // namespace

void print_cost(const Context& context, const std::vector<const Exercise*>& exercises) {
    fmt::print("{:<22}", "lines");
    for (const char* part : kParts) {
        fmt::print(" {:>12}", part);
    }
    fmt::print("\n");
    Cost sum = {};
    for (const Exercise* exercise : exercises) {
        const Cost cost = cost_of(context, *exercise);
        print_row(exercise->name, cost);
        for (std::size_t i = 0; i < cost.size(); ++i) {
            sum.at(i) += cost.at(i);
        }
    }
    for (long& lines : sum) {
        lines /= std::max(1L, static_cast<long>(exercises.size()));
    }
    print_row("on average", sum);
    fmt::print("\"together\" leaves out the lesson's section and the entry of the list.\n");
}

}  // namespace dist::cli
