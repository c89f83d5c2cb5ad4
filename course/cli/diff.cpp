// diff: the student's file beside the reference, once the exercise passes.
#include <fmt/core.h>
#include <memory>
#include <string>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

void print_diff(Context& context, const std::string& name, bool force) {
    const Manifest manifest = read_manifest(context.root);
    Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, name);
    expect_earned(exercise, progress, force);
    const Ended ended =
        run(context,
            {"git", "diff", "--no-index", use_colours() ? "--color=always" : "--color=never", "--",
             exercise.source().string(), exercise.solution().string()});
    if (ended.status > 1) {  // 1 says that they differ
        throw CommandError(exit_status::kUsage, "git diff failed: " + ended.output);
    }
    fmt::print("{}", ended.output.empty() ? "Both are the same.\n" : ended.output);
    progress.solutions_seen.insert(exercise.name);
    write_progress(context.root, progress);
}

}  // namespace

void add_diff(Command& app, Context& context) {
    auto command = app.add_subcommand("diff", "Compare your file with the reference, after a pass");
    auto name = std::make_shared<std::string>();
    auto force = std::make_shared<bool>(false);
    command.add_option("NAME", *name, "An exercise; without it, the current one");
    command.add_flag("--force", *force, "Also before a pass");
    command.callback([&context, name, force] { print_diff(context, *name, *force); });
}

}  // namespace dist::cli
