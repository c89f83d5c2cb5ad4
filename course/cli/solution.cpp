// solution: the reference, once the exercise passes.
#include <fmt/core.h>
#include <memory>
#include <string>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

void print_solution(Context& context, const std::string& name, bool force) {
    const Manifest manifest = read_manifest(context.root);
    Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, name);
    expect_earned(exercise, progress, force);
    fmt::print(
        "// {}\n{}", exercise.solution().string(), read_text(context.root / exercise.solution())
    );
    progress.solutions_seen.insert(exercise.name);
    write_progress(context.root, progress);
}

}  // namespace

void add_solution(Command& app, Context& context) {
    auto command = app.add_subcommand("solution", "Show the reference solution, after a pass");
    auto name = std::make_shared<std::string>();
    auto force = std::make_shared<bool>(false);
    command.add_option("NAME", *name, "An exercise; without it, the current one");
    command.add_flag("--force", *force, "Also before a pass");
    command.callback([&context, name, force] { print_solution(context, *name, *force); });
}

}  // namespace dist::cli
