#include "course/build/build.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <sstream>

#include "course/build/build_lock.hpp"
#include "course/build/diagnostics.hpp"
#include "course/build/difference.hpp"
#include "course/build/lines.hpp"
#include "course/build/setup.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/sandbox.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// `path` as people say it: relative to the repository where it lies inside.
std::string readable_path(const fs::path& path, const fs::path& root) {
    const std::string relative = inside(root, fs::absolute(path));
    return relative.empty() ? path.string() : relative;
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

/// Functions and variables in an order that nobody knows before: what an answer finds by its distance in one program lies
/// elsewhere in the next. Only mold does that.
std::string with_places_drawn(const std::string& link) {
    const std::string mold = " -fuse-ld=mold";
    std::random_device device;
    return replaced(link, mold, fmt::format("{} -Wl,--shuffle-sections={}", mold, device()));
}

/// The line that compiles `file`, in a sandbox that has nothing else of the course than headers.
std::vector<std::string> in_sandbox(
    const Context& context,
    const Recipe& recipe,
    std::string compile,
    const fs::path& file,
    const fs::path& output
) {
    Sandbox sandbox;
    sandbox.memory_mb = 6144;
    for (const char* const folder : kOpenRooms) {
        sandbox.readable.push_back(context.root / folder);
    }
    if (recipe.program.on_stand_in) {
        sandbox.readable.push_back(context.root / "tests/harness/gpu/stand_in");
    }
    for (const auto& entry : fs::recursive_directory_iterator(context.root / "exercises")) {
        if (entry.path().extension() == ".hpp") {
            sandbox.readable.push_back(entry.path());
        }
    }
    if (compile.find(" -include ") != std::string::npos) {
        sandbox.readable.push_back(fs::path(word_after(compile, " -include ")).parent_path());
    }
    for (const std::string flag : {"-isystem ", "-I"}) {
        for (std::size_t at = compile.find(" " + flag); at != std::string::npos;
             at = compile.find(" " + flag, at + 1)) {
            const std::string folder = word_after(compile.substr(at), flag);
            if (folder.starts_with("/") && !folder.starts_with("/usr/") &&
                inside(context.root, folder).empty() && fs::exists(folder)) {
                sandbox.readable.emplace_back(folder);
            }
        }
    }
    sandbox.readable.push_back(file);
    sandbox.writable.push_back(context.build_folder() / output);
    // what a cache holds is everybody's
    if (const std::string launcher = "ccache "; compile.find(launcher) < compile.find(' ') + 1) {
        compile.erase(0, compile.find(launcher) + launcher.size());
    }
    return sandboxed({"sh", "-c", compile}, sandbox, {}, context.build_folder());
}

/// The link of `recipe` as that of a shared object, without what is in the program that will load it.
std::string library_line(const Recipe& recipe) {
    std::string line;
    std::istringstream words(recipe.link);
    bool compiler_next = false;
    for (std::string word; words >> word;) {
        const bool shared = word.starts_with("/") && word.find(".so") != std::string::npos;
        if (shared || word.starts_with("tests/harness/CMakeFiles/dist_")) {
            continue;
        }
        line += word + (compiler_next ? " -shared " : " ");
        compiler_next = word == "&&";
    }
    return line;
}

/// Runs one line of the linker, which makes `output`, and says in `built` what came of it.
void link(
    const Context& context,
    const Recipe& recipe,
    const std::string& line,
    const fs::path& output,
    Built& built
) {
    RunOptions options;
    options.folder = context.build_folder();
    options.environment = {{"LC_ALL", "C"}};
    std::string link = replaced(line, recipe.object, built.object.string());
    link = replaced(link, " -o " + recipe.executable, " -o " + output.string());
    const Ended linked = run(context, {"sh", "-c", link}, options);
    const Built unlinked =
        linked.ok() ? Built() : failed(context, recipe.program, built.source, linked.output);
    built.error = unlinked.error;
    built.log = unlinked.log;
    built.ok = linked.ok();
    built.link_s += linked.seconds;
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

std::vector<fs::path> library_folders(const Recipe& recipe) {
    std::vector<fs::path> folders;
    std::istringstream words(recipe.link);
    for (std::string word; words >> word;) {
        const bool library = word.starts_with("/") && word.find(".so") != std::string::npos;
        const fs::path folder = fs::path(word).parent_path();
        if (library && !word.starts_with("/usr/") && !word.starts_with("/lib") &&
            std::find(folders.begin(), folders.end(), folder) == folders.end()) {
            folders.push_back(folder);
        }
    }
    return folders;
}

Built compile_as(
    const Context& context, const Recipe& recipe, const fs::path& as, const Caution& caution
) {
    const std::string file = make_source(context, as).string();
    const std::string source = (context.root / recipe.program.source).string();
    const fs::path folder =
        fmt::format("as/{:016x}", std::hash<std::string>{}(file + recipe.program.name));
    fs::create_directories(context.build_folder() / folder);
    const std::string object = (folder / "file.o").string();

    // what the source finds beside itself, the file in its place finds too; nvcc knows no -iquote
    std::string beside = fmt::format(" -I{}", fs::path(source).parent_path().string());
    if (is_difference(as)) {  // its source's place says nothing to anyone
        beside += fmt::format(" -fmacro-prefix-map={}/=", fs::path(file).parent_path().string());
    }
    beside += " -c ";
    std::string compile = replaced(recipe.compile, " -c " + source, beside + shell_line({file}));
    compile = replaced(compile, recipe.object, object);
    RunOptions options;
    options.folder = context.build_folder();
    // the sums of precompiled headers are among the test's parts, so they are as new as the headers
    options.environment = {{"LC_ALL", "C"}, {"CCACHE_PCH_EXTSUM", "1"}};
    options.time_limit_s = caution.limit_s;
    const std::vector<std::string> line = caution.sandbox
                                              ? in_sandbox(context, recipe, compile, file, folder)
                                              : std::vector<std::string>{"sh", "-c", compile};
    Ended compiled = run(context, line, options);
    const auto sandbox_failed = [&] {
        return caution.sandbox && !compiled.ok() && compiled.output.starts_with("bwrap: ");
    };
    if (sandbox_failed()) {  // once may be chance
        compiled = run(context, line, options);
    }
    if (sandbox_failed()) {
        throw CommandError(exit_status::kOurs, "no sandbox could be made: " + compiled.output);
    }
    options.time_limit_s = 0;
    if (compiled.timed_out) {
        Built built;
        built.error = fmt::format("the compiler was still at work after {} s", caution.limit_s);
        built.log = built.error;
        return built;
    }
    if (!compiled.ok()) {
        return failed(context, recipe.program, file, compiled.output);
    }
    Built built;
    if (caution.sandbox) {
        const std::string seen = (folder / "file.ii").string();
        const std::string preprocess =
            replaced(replaced(compile, " -c ", " -E -c "), " -o " + object, " -o " + seen);
        if (run(context, in_sandbox(context, recipe, preprocess, file, folder), options).ok()) {
            built.preprocessed = context.build_folder() / seen;
        }
    }
    built.source = file;
    built.object = object;
    built.included = dependencies_in(read_text(context.build_folder() / (object + ".d")));
    built.others = recipe.others;
    built.compile_s = compiled.seconds;
    return built;
}

Built link_program(
    const Context& context, const Recipe& recipe, Built built, const Caution& caution
) {
    if (!built.object.empty()) {
        const fs::path program = built.object.parent_path() / recipe.program.target();
        const std::string line = caution.sandbox ? with_places_drawn(recipe.link) : recipe.link;
        link(context, recipe, line, program, built);
        built.executable = context.build_folder() / program;
    }
    return built;
}

Built link_library(const Context& context, const Recipe& recipe, Built built) {
    if (!built.object.empty()) {
        const fs::path library = built.object.parent_path() / (recipe.program.target() + ".so");
        link(context, recipe, library_line(recipe), library, built);
        built.library = built.ok ? context.build_folder() / library : fs::path();
    }
    return built;
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
