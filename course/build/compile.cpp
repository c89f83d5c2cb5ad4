// The compiler's half of a build.

#include <fmt/format.h>
#include <functional>

#include "course/build/build.hpp"
#include "course/build/changed.hpp"
#include "course/build/failed.hpp"
#include "course/build/lines.hpp"
#include "course/manifest/cases.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/sandbox.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

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

/// The line of `recipe` that makes `object` of `file`, which stands for `as`.
std::string compile_line(
    const Context& context,
    const Recipe& recipe,
    const fs::path& as,
    const std::string& file,
    const std::string& object
) {
    const std::string source = (context.root / recipe.program.source).string();
    // what the source finds beside itself, the file in its place finds too; nvcc knows no -iquote
    std::string beside = fmt::format(" -I{}", fs::path(source).parent_path().string());
    if (in_list(as)) {  // its source's place says nothing to anyone
        beside += fmt::format(" -fmacro-prefix-map={}/=", fs::path(file).parent_path().string());
    }
    beside += " -c ";
    const std::string line = replaced(recipe.compile, " -c " + source, beside + shell_line({file}));
    return replaced(line, recipe.object, object);
}

/// Runs the compiler. A sandbox may fail to be made by chance, but not twice.
/// Errors  CommandError where it does
Ended run_compiler(
    const Context& context,
    const std::vector<std::string>& line,
    const RunOptions& options,
    const Caution& caution
) {
    const auto no_sandbox = [&](const Ended& ended) {
        return caution.sandbox && !ended.ok() && ended.output.starts_with("bwrap: ");
    };
    Ended compiled = run(context, line, options);
    if (no_sandbox(compiled)) {
        compiled = run(context, line, options);
    }
    if (no_sandbox(compiled)) {
        throw CommandError(exit_status::kOurs, "no sandbox could be made: " + compiled.output);
    }
    return compiled;
}

}  // namespace

Built compile_as(
    const Context& context, const Recipe& recipe, const fs::path& as, const Caution& caution
) {
    const std::string file = make_source(context, as).string();
    const fs::path folder =
        fmt::format("as/{:016x}", std::hash<std::string>{}(file + recipe.program.name));
    fs::create_directories(context.build_folder() / folder);
    const std::string object = (folder / "file.o").string();
    const std::string compile = compile_line(context, recipe, as, file, object);
    RunOptions options;
    options.folder = context.build_folder();
    // the sums of precompiled headers are among the test's parts, so they are as new as the headers
    options.environment = {{"LC_ALL", "C"}, {"CCACHE_PCH_EXTSUM", "1"}};
    options.time_limit_s = caution.limit_s;
    const std::vector<std::string> line = caution.sandbox
                                              ? in_sandbox(context, recipe, compile, file, folder)
                                              : std::vector<std::string>{"sh", "-c", compile};
    const Ended compiled = run_compiler(context, line, options, caution);
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

}  // namespace dist::cli
