#include "course/build/build.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "course/build/build_lock.hpp"
#include "course/build/diagnostics.hpp"
#include "course/build/failed.hpp"
#include "course/build/lines.hpp"
#include "course/build/setup.hpp"
#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// One call of the build tool, for targets or files of the build folder.
Ended build(Context& context, const std::vector<std::string>& targets) {
    if (!fs::exists(context.build_folder() / "build.ninja")) {
        configure(context);
    }
    const BuildLock lock(context.root);
    std::vector<std::string> line = {
        "cmake", "--build", context.build_folder().string(), "--target"};
    line.insert(line.end(), targets.begin(), targets.end());
    RunOptions options;
    options.environment = {{"LC_ALL", "C"}, {"NINJA_STATUS", "[%f/%t %e] "}};
    ProgressLine progress;
    options.watch = [&](const std::string& output, double /*seconds*/) {
        if (const std::string steps = steps_of(output); !steps.empty()) {
            progress.show(steps);
        }
    };
    Ended ended = run(context, line, options);
    progress.clear();
    const double link_s = link_seconds(ended.output);
    context.spend("build", ended.seconds - link_s);
    context.spend("link", link_s);
    if (!ended.ok()) {
        fmt::print(stderr, "{}", context.verbose ? ended.output : "");
        refuse_full_disk(context, ended.output);
    }
    return ended;
}

/// The build's own lines for `program`.
Recipe read_recipe(const Context& context, const Program& program) {
    const std::string folder = context.build_folder().string();
    const Ended commands =
        run(context, {"ninja", "-C", folder, "-t", "commands", program.target()});
    Recipe recipe;
    recipe.program = program;
    const std::string source = (context.root / program.source).string();
    std::istringstream lines(commands.output);
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" -c " + source) != std::string::npos &&
            line.find(program.target() + ".dir/") != std::string::npos) {
            recipe.compile = line;
        }
        recipe.link = line;  // the last one
    }
    if (recipe.compile.empty()) {
        throw CommandError(
            exit_status::kOurs,
            fmt::format(
                "the build has no target {} with {}", program.target(), program.source.string()
            )
        );
    }
    recipe.object = word_after(recipe.compile, " -o ");
    recipe.executable = word_after(recipe.link, " -o ");
    recipe.others = inputs_of(recipe.link);
    std::erase(recipe.others, recipe.object);
    return recipe;
}

}  // namespace

Recipe prepare(Context& context, const Program& program) {
    ensure_installed(context, program.kind());
    if (const Ended fresh = build(context, {"build.ninja"}); !fresh.ok()) {
        throw CommandError(
            exit_status::kUsage, first_error(fresh.output, context.root, "CMakeLists.txt")
        );
    }
    Recipe recipe = read_recipe(context, program);
    if (const Ended ended = build(context, {program.target() + "_parts"}); !ended.ok()) {
        throw CommandError(
            exit_status::kBuildError, first_error(ended.output, context.root, "the course")
        );
    }
    return recipe;
}

Built build_as(
    const Context& context, const Recipe& recipe, const fs::path& as, const Caution& caution
) {
    return link_program(context, recipe, compile_as(context, recipe, as, caution), caution);
}

Built build_test(Context& context, const Program& program, const fs::path& as) {
    if (!as.empty()) {
        if (!fs::is_regular_file(as)) {
            throw UsageError(
                fmt::format("{} {}", as.string(), fs::exists(as) ? "is not a file" : "is not there")
            );
        }
        Built built = build_as(context, prepare(context, program), as);
        context.spend("build", built.compile_s);
        context.spend("link", built.link_s);
        return built;
    }
    ensure_installed(context, program.kind());
    Ended ended = build(context, {program.target()});
    if (!ended.ok()) {
        return failed(context, program, context.root / program.source, ended.output);
    }
    Built built;
    built.ok = true;
    built.executable = context.build_folder() / "tests" / program.target();
    const Recipe recipe = read_recipe(context, program);
    built.source = context.root / program.source;
    built.object = recipe.object;
    const std::string folder = context.build_folder().string();
    built.included =
        dependencies_in(run(context, {"ninja", "-C", folder, "-t", "deps", recipe.object}).output);
    built.others = recipe.others;
    return built;
}

void build_targets(Context& context, const std::vector<std::string>& targets) {
    if (const Ended ended = build(context, targets); !ended.ok()) {
        throw CommandError(
            exit_status::kBuildError, first_error(ended.output, context.root, "the course")
        );
    }
}

}  // namespace dist::cli
