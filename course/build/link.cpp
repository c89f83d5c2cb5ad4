// The linker's half of a build.

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <sstream>

#include "course/build/build.hpp"
#include "course/build/failed.hpp"
#include "course/build/lines.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// Functions and variables in an order that nobody knows before: what an answer finds by its distance in one program lies
/// elsewhere in the next. Only mold does that.
std::string with_places_drawn(const std::string& link) {
    const std::string mold = " -fuse-ld=mold";
    std::random_device device;
    return replaced(link, mold, fmt::format("{} -Wl,--shuffle-sections={}", mold, device()));
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

}  // namespace dist::cli
