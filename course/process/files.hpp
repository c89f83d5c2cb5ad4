// Files that are read whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace dist::cli {

/// The text of a file; empty when it cannot be read.
inline std::string read_text(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// `file` as seen from `folder`; empty for one that is not inside of it.
inline std::string inside(const std::filesystem::path& folder, const std::filesystem::path& file) {
    const std::string path =
        file.lexically_normal().lexically_relative(folder.lexically_normal()).string();
    return path.starts_with("..") ? "" : path;
}

}  // namespace dist::cli
