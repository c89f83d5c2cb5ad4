#include "course/build/newer.hpp"

#include <system_error>
#include <vector>

#include "course/manifest/test_folders.hpp"

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
    std::vector<fs::path> folders = test_folders(root);
    for (const char* const folder : {"course", "exercises", "solutions", "scripts/cmake"}) {
        folders.push_back(root / folder);
    }
    std::error_code gone;
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
