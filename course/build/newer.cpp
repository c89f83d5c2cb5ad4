#include "course/build/newer.hpp"

#include <cctype>
#include <string>
#include <system_error>
#include <vector>

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// Files of people who edit here: their editors leave others beside them.
bool is_answer(const Context& context, const fs::path& path) {
    const fs::path place = path.lexically_relative(context.root);
    return *place.begin() == "exercises" && path.extension() != ".hpp" &&
           path.extension() != ".toml";
}

}  // namespace

bool anything_newer(const Context& context, fs::file_time_type time) {
    const auto newer = [&](const fs::path& path) {
        std::error_code gone;
        return fs::last_write_time(path, gone) > time || gone;
    };
    const fs::path& root = context.root;
    for (const fs::path& file :
         {root / "CMakeLists.txt", root / "CMakePresets.json",
          context.build_folder() / "build.ninja", context.build_folder() / "CMakeCache.txt"}) {
        if (newer(file)) {
            return true;
        }
    }
    std::vector<fs::path> folders = {
        root / "course", root / "exercises", root / "solutions", root / "tests/harness",
        root / "scripts/cmake"};
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(root / "tests", gone)) {
        const std::string name = entry.path().filename().string();
        if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) {  // a chapter's
            folders.push_back(entry.path());
        }
    }
    for (const fs::path& folder : folders) {
        if (!is_answer(context, folder / "") && newer(folder)) {
            return true;
        }
        for (const auto& entry : fs::recursive_directory_iterator(folder, gone)) {
            if (!is_answer(context, entry.path()) && newer(entry.path())) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace dist::cli
