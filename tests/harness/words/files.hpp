// Files of a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include "course/protocol/protocol.hpp"

namespace dist::harness {

namespace fs = std::filesystem;

/// A path of its own, of no file, where the folder of the run lies: in shared memory, if it can be.
inline fs::path fresh_path() {
    static int number = 0;
    const char* const shared = std::getenv(kEnvShared);
    fs::path path = fs::path(shared != nullptr ? shared : ".") /
                    ("test-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    fs::remove(path);
    return path;
}

inline std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path file_with(const std::string& bytes) {
    fs::path path = fresh_path();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

inline void append(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::app | std::ios::binary) << bytes;
}

}  // namespace dist::harness
