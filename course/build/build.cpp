#include "course/build/build.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "course/build/build_lock.hpp"
#include "course/build/changed.hpp"
#include "course/build/diagnostics.hpp"
#include "course/build/failed.hpp"
#include "course/build/lines.hpp"
#include "course/build/newer.hpp"
#include "course/build/setup.hpp"
#include "course/manifest/cases.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
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
    ProgressLine progress;
    const BuildLock lock(context.root, [&](const std::string& who) {
        fmt::print(stderr, "waits for {}, which builds here\n", who);
    });
    std::vector<std::string> line = {
        "cmake", "--build", context.build_folder().string(), "--target"};
    line.insert(line.end(), targets.begin(), targets.end());
    RunOptions options;
    options.environment = {{"LC_ALL", "C"}, {"NINJA_STATUS", "[%f/%t %e] "}};
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

Recipe recipe_from(const Program& program, const std::string& compile, const std::string& link) {
    Recipe recipe;
    recipe.program = program;
    recipe.compile = compile;
    recipe.link = link;
    recipe.object = word_after(recipe.compile, " -o ");
    recipe.executable = word_after(recipe.link, " -o ");
    recipe.others = inputs_of(recipe.link);
    std::erase(recipe.others, recipe.object);
    return recipe;
}

/// What makes `targets`, a command a line.
std::string commands_for(const Context& context, const std::vector<std::string>& targets) {
    std::vector<std::string> line = {
        "ninja", "-C", context.build_folder().string(), "-t", "commands"};
    line.insert(line.end(), targets.begin(), targets.end());
    return run(context, line).output;
}

/// `link` without the archives that `commands` do not make.
std::string with_what_is_made(const std::string& link, const std::string& commands) {
    std::string kept;
    std::istringstream words(link);
    for (std::string word; words >> word;) {
        const bool archive = word.ends_with(".a") && fs::path(word).is_relative();
        if (!archive || commands.find(" " + word + " ") != std::string::npos) {
            kept += (kept.empty() ? "" : " ") + word;
        }
    }
    return kept;
}

/// From the build's own lines for `program`: the one that compiles its source, and the one that links, with what `parts` make.
Recipe recipe_of(
    const Context& context, const Program& program, const std::vector<std::string>& parts
) {
    const std::string source = (context.root / program.source).string();
    std::string compile;
    std::string link;
    std::istringstream lines(commands_for(context, {program.target()}));
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" -c " + source) != std::string::npos &&
            line.find(program.target() + ".dir/") != std::string::npos) {
            compile = line;
        }
        link = line;  // the last one
    }
    if (compile.empty()) {
        throw CommandError(
            exit_status::kOurs,
            fmt::format(
                "the build has no target {} with {}", program.target(), program.source.string()
            )
        );
    }
    return recipe_from(program, compile, with_what_is_made(link, commands_for(context, parts)));
}

/// Where prepare() keeps what it found: the targets, the recipe's two lines, and, as the file's time, when it began.
fs::path note_of(const Context& context, const Program& program) {
    return context.build_folder() / "prepared" / program.target();
}

std::string targets_line(const Program& program, const std::vector<std::string>& more) {
    return fmt::format("{} {}", program.target(), fmt::join(more, " "));
}

/// Losing it costs a call of the build tool.
void keep_note(
    const Context& context,
    const Program& program,
    const std::string& text,
    fs::file_time_type begun
) {
    const fs::path file = note_of(context, program);
    const fs::path beside = fmt::format("{}.{}", file.string(), getpid());
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    std::ofstream(beside) << text;
    fs::last_write_time(beside, begun, ignored);
    fs::rename(beside, file, ignored);
}

/// The recipe, where there is nothing to do.
std::optional<Recipe> prepared(
    const Context& context, const Program& program, const std::vector<std::string>& more
) {
    const fs::path file = note_of(context, program);
    std::ifstream lines(file);
    std::string targets;
    std::string compile;
    std::string link;
    std::error_code none;
    const fs::file_time_type begun = fs::last_write_time(file, none);
    if (none || !std::getline(lines, targets) || !std::getline(lines, compile) ||
        !std::getline(lines, link) || targets != targets_line(program, more) ||
        anything_newer(context, begun)) {
        return std::nullopt;
    }
    Recipe recipe = recipe_from(program, compile, link);
    const auto is_there = [&](const fs::path& part) {
        return fs::exists(context.build_folder() / part);
    };
    return std::ranges::all_of(recipe.others, is_there) ? std::optional(std::move(recipe))
                                                        : std::nullopt;
}

}  // namespace

Recipe prepare(Context& context, const Program& program, const std::vector<std::string>& more) {
    if (std::optional<Recipe> known = prepared(context, program, more)) {
        return *std::move(known);
    }
    ensure_installed(context, program.kind());
    const fs::file_time_type begun = fs::file_time_type::clock::now();
    std::vector<std::string> targets = more;
    targets.push_back(program.target() + "_parts");
    if (const Ended ended = build(context, targets); !ended.ok()) {
        if (const Ended fresh = build(context, {"build.ninja"}); !fresh.ok()) {
            throw CommandError(
                exit_status::kUsage, first_error(fresh.output, context.root, "CMakeLists.txt")
            );
        }
        throw CommandError(
            exit_status::kBuildError, first_error(ended.output, context.root, "the course")
        );
    }
    Recipe recipe = recipe_of(context, program, targets);
    keep_note(
        context, program,
        fmt::format("{}\n{}\n{}\n", targets_line(program, more), recipe.compile, recipe.link), begun
    );
    return recipe;
}

std::vector<std::string> references_named(
    const Context& context, const Program& program, const std::string& answer
) {
    if (program.for_gpu() || program.simulated || program.simulated_test) {
        return {};  // their parts are all references
    }
    const std::string include = "#include \"";
    std::set<std::string> targets;
    for (std::size_t at = answer.find(include); at != std::string::npos;
         at = answer.find(include, at)) {
        at += include.size();
        const fs::path header = answer.substr(at, answer.find('"', at) - at);
        if (*header.begin() == "exercises" && header.stem() != program.name &&
            fs::exists(context.root / header)) {
            targets.insert(header.stem().string() + "_references");
        }
    }
    return {targets.begin(), targets.end()};
}

Built build_as(
    const Context& context, const Recipe& recipe, const fs::path& as, const Caution& caution
) {
    return link_program(context, recipe, compile_as(context, recipe, as, caution), caution);
}

std::string text_of(const Context& context, const fs::path& answer) {
    try {
        return read_text(make_source(context, answer));
    } catch (const UsageError&) {  // told where it is compiled
        return "";
    }
}

void expect_file(const fs::path& as) {
    const std::optional<InList> in = in_list(as);
    const fs::path file = in ? in->list : as;
    if (!fs::is_regular_file(file)) {
        throw UsageError(
            fmt::format("{} {}", file.string(), fs::exists(file) ? "is not a file" : "is not there")
        );
    }
}

Built build_test(Context& context, const Program& program, const fs::path& as) {
    if (!as.empty()) {
        expect_file(as);
    }
    const fs::path answer = as.empty() ? context.root / program.source : as;
    const Recipe recipe =
        prepare(context, program, references_named(context, program, text_of(context, answer)));
    Built built = build_as(context, recipe, answer);
    context.spend("build", built.compile_s);
    context.spend("link", built.link_s);
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
