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

}  // namespace dist::cli
