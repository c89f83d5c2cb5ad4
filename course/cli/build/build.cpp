#include "course/cli/build/build.hpp"

#include <fmt/format.h>
#include <functional>
#include <sstream>

#include "course/cli/build/build_lock.hpp"
#include "course/cli/build/diagnostics.hpp"
#include "course/cli/build/difference.hpp"
#include "course/cli/build/setup.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/files.hpp"
#include "course/cli/process/progress_line.hpp"
#include "course/cli/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// `path` as people say it: relative to the repository where it lies inside.
std::string readable_path(const fs::path& path, const fs::path& root) {
    const fs::path relative = fs::absolute(path).lexically_relative(root);
    return relative.empty() || relative.string().starts_with("..") ? path.string()
                                                                   : relative.string();
}

/// "building 12/40": how far the build tool is, by its own lines.
std::string steps_of(const std::string& output) {
    const std::size_t last = output.rfind("\n[");
    if (last == std::string::npos) {
        return "";
    }
    return "building " + output.substr(last + 2, output.find(' ', last) - last - 2);
}

/// Seconds that the last step, the link, took. A line of the build starts "[done/all seconds]
/// what".
double link_seconds(const std::string& output) {
    double before = 0;
    double now = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (!line.starts_with("[") || space == std::string::npos) {
            continue;
        }
        before = now;
        now = std::strtod(line.c_str() + space, nullptr);
        if (line.find("Linking CXX executable") != std::string::npos) {
            return now - before;
        }
    }
    return 0;
}

/// A full disk is no error in anybody's file.
void refuse_full_disk(const Context& context, const std::string& log) {
    if (log.find("No space left on device") != std::string::npos) {
        const std::string folder = context.build_folder().string();
        throw CommandError(
            exit_status::kOurs, "no space left on the disk of " + folder +
                                    ", or in TMPDIR, where compilers write: make room there"
        );
    }
}

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

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

/// The word after `flag` in a command line.
std::string word_after(const std::string& line, const std::string& flag) {
    const std::size_t begin = line.find(flag) + flag.size();
    return line.substr(begin, line.find(' ', begin) - begin);
}

Built failed(
    const Context& context, const Program& program, const fs::path& file, const std::string& log
) {
    refuse_full_disk(context, log);
    const std::string header = read_text((context.root / program.source).replace_extension(".hpp"));
    Built built;
    built.error = first_error(log, context.root, readable_path(file, context.root), header);
    built.log = log;
    return built;
}

}  // namespace

Recipe prepare(Context& context, const Program& program) {
    if (program.needs == "torch") {
        ensure_torch(context);
    }
    if (const Ended fresh = build(context, {"build.ninja"}); !fresh.ok()) {
        throw CommandError(
            exit_status::kUsage, first_error(fresh.output, context.root, "CMakeLists.txt")
        );
    }
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
    if (const Ended ended = build(context, {program.target() + "_parts"}); !ended.ok()) {
        throw CommandError(
            exit_status::kBuildError, first_error(ended.output, context.root, "the course")
        );
    }
    return recipe;
}

Built build_as(const Context& context, const Recipe& recipe, const fs::path& as) {
    const std::string file = make_source(context, as).string();
    const std::string source = (context.root / recipe.program.source).string();
    const fs::path folder =
        fmt::format("as/{:016x}", std::hash<std::string>{}(file + recipe.program.name));
    fs::create_directories(context.build_folder() / folder);
    const std::string object = (folder / "file.o").string();
    const std::string executable = (folder / recipe.program.target()).string();

    // what the source finds beside itself, the file in its place finds too; nvcc knows no -iquote
    std::string beside = fmt::format(" -I{}", fs::path(source).parent_path().string());
    if (is_difference(as)) {  // its source's place says nothing to anyone
        beside += fmt::format(" -fmacro-prefix-map={}/=", fs::path(file).parent_path().string());
    }
    beside += " -c ";
    std::string compile = replaced(recipe.compile, " -c " + source, beside + shell_line({file}));
    compile = replaced(compile, recipe.object, object);
    std::string link = replaced(recipe.link, recipe.object, object);
    link = replaced(link, " -o " + recipe.executable, " -o " + executable);
    RunOptions options;
    options.folder = context.build_folder();
    // the sums of precompiled headers are among the test's parts, so they are as new as the headers
    options.environment = {{"LC_ALL", "C"}, {"CCACHE_PCH_EXTSUM", "1"}};
    const Ended compiled = run(context, {"sh", "-c", compile}, options);
    if (!compiled.ok()) {
        return failed(context, recipe.program, file, compiled.output);
    }
    const Ended linked = run(context, {"sh", "-c", link}, options);
    if (!linked.ok()) {
        return failed(context, recipe.program, file, linked.output);
    }
    Built built;
    built.ok = true;
    built.executable = context.build_folder() / executable;
    built.compile_s = compiled.seconds;
    built.link_s = linked.seconds;
    return built;
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
    if (program.needs == "torch") {
        ensure_torch(context);
    }
    Ended ended = build(context, {program.target()});
    if (!ended.ok()) {
        return failed(context, program, context.root / program.source, ended.output);
    }
    Built built;
    built.ok = true;
    built.executable = context.build_folder() / "tests" / program.target();
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
