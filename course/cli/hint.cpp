// hint: one hint more than last time.
#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <string>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

void print_hints(Context& context, const std::string& name) {
    const Manifest manifest = read_manifest(context.root);
    Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, name);

    int& seen = progress.hints[exercise.name];
    const int total = static_cast<int>(exercise.hints.size());
    seen = std::clamp(seen, 0, total - 1) + 1;
    for (int k = 1; k <= seen; ++k) {
        print_folded(fmt::format("{}, hint {} of {}:\n", exercise.name, k, total));
        print_indented(exercise.hints[static_cast<std::size_t>(k - 1)] + "\n\n");
    }
    print_folded(fmt::format(
        "The task:  {}\nEdit:      {}\n", exercise.header().string(), exercise.source().string()
    ));
    if (seen == total) {
        print_folded(
            fmt::format("That was the last hint. ./shardlings solution {} --force\n", exercise.name)
        );
    }
    write_progress(context.root, progress);
}

}  // namespace

void add_hint(Command& app, Context& context) {
    auto command = app.add_subcommand("hint", "Show the next hint, below those already seen");
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "An exercise; without it, the current one");
    command.callback([&context, name] { print_hints(context, *name); });
}

}  // namespace dist::cli
