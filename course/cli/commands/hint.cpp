// hint: one hint more than last time.
#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <sstream>
#include <string>

#include "course/cli/commands/command.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/exercises/progress.hpp"
#include "course/cli/exercises/select.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kColumns = 80;

// The words in lines of at most so many columns, indented.
std::string wrapped(const std::string& text) {
    std::istringstream words(text);
    std::string result = " ";
    std::size_t column = 1;
    for (std::string word; words >> word; column += word.size() + 1) {
        if (column + word.size() >= kColumns) {
            result += "\n ";
            column = 1;
        }
        result += " " + word;
    }
    return result;
}

void print_hints(Context& context, const std::string& name) {
    const Manifest manifest = read_manifest(context.root);
    Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, name);

    int& seen = progress.hints[exercise.name];
    const int total = static_cast<int>(exercise.hints.size());
    seen = std::clamp(seen + 1, 1, total);
    for (int k = 1; k <= seen; ++k) {
        const std::string& hint = exercise.hints[static_cast<std::size_t>(k - 1)];
        fmt::print("{}, hint {} of {}:\n{}\n\n", exercise.name, k, total, wrapped(hint));
    }
    fmt::print("The task:  {}\n", exercise.header().string());
    fmt::print("Edit:      {}\n", exercise.source().string());
    if (seen == total) {
        fmt::print("That was the last hint. ./shardlings solution {} --force\n", exercise.name);
    }
    write_progress(context.root, progress);
}

}  // namespace

void add_hint(Command& app, Context& context) {
    auto command = app.add_subcommand("hint", "The next hint; those before it stay visible");
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "An exercise; without it, the current one");
    command.callback([&context, name] { print_hints(context, *name); });
}

}  // namespace dist::cli
