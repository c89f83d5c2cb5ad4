// Where tests lie.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace dist::cli {

/// The folders that tests are made of: the harness, and one for each chapter. Others are of the course itself, or hold answers that are known.
inline std::vector<std::filesystem::path> test_folders(const std::filesystem::path& root) {
    std::vector<std::filesystem::path> folders = {root / "tests/harness"};
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(root / "tests", gone)) {
        if (entry.path().filename().string().find_first_of("0123456789") == 0) {
            folders.push_back(entry.path());
        }
    }
    return folders;
}

}  // namespace dist::cli
