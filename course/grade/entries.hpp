// The entries of a folder or an archive, one after the other, with what is dangerous in them refused.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dist::cli {

/// One file in there.
struct Entry {
    std::string path;                                 // as it is written; '/' between folders
    std::optional<std::chrono::sys_seconds> changed;  // where somebody noted it
    /// Reads it; at most so many bytes, and one more where it has more.
    std::function<std::string(std::size_t most)> read;
};

/// The longest source that is read, and how much an archive may hold.
inline constexpr std::size_t kMostSource = 1U << 20U;
inline constexpr std::size_t kMostBytes = 256U << 20U;
inline constexpr std::size_t kMostEntries = 20'000;

/// Calls `take` for each ordinary file. Returns what was refused, a sentence each.
std::vector<std::string> for_each_entry(
    const std::filesystem::path& folder_or_archive, const std::function<void(const Entry&)>& take
);

/// By its name: a file that may be an archive.
bool is_archive(const std::filesystem::path& file);

/// The name without what says that it is one: "ada" of "ada.tar.gz".
std::string without_ending(const std::filesystem::path& file);

}  // namespace dist::cli
