// What all parts of the command share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dist::cli {

/// What all commands share.
struct Context {
    std::filesystem::path root;      // of the repository
    std::string preset = "release";  // the build folder's name
    bool verbose = false;
    bool json = false;
    /// Asked often while a program runs; true stops it, and Interrupted is thrown.
    std::function<bool()> cancelled = nullptr;
    /// Told often what the ranks are doing: the test's name, or that they start.
    std::function<void(std::string_view what)> running = nullptr;
    int status = 0;  // what the command ends with
    /// Where the time went, for --verbose.
    std::vector<std::pair<std::string, double>> spent_s = {};

    [[nodiscard]] std::filesystem::path build_folder() const { return root / "build" / preset; }
    /// Adds seconds to the part of that name.
    void spend(const std::string& part, double seconds);
};

}  // namespace dist::cli
