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
    std::string path;  // as it is written, '/' between folders; what is no UTF-8 in it as \xNN
    std::optional<std::chrono::sys_seconds> changed;  // where somebody noted it
    /// Reads it; at most so many bytes, and one more where it has more.
    std::function<std::string(std::size_t most)> read;
};

/// What was not taken, and why: "it is a link". An empty path: the archive itself, or the folder.
struct NotTaken {
    std::string path;
    std::string why;
};

/// The longest source that is read, and how much an archive may hold. Folders that no answer is in, such as build/, do not count.
inline constexpr std::size_t kMostSource = 1U << 20U;
inline constexpr std::size_t kMostBytes = 256U << 20U;
inline constexpr std::size_t kMostEntries = 20'000;

/// Calls `take` for each ordinary file in a folder or an archive; for a file that is no archive, for itself. Returns what was refused.
///
/// Errors  Interrupted
std::vector<NotTaken> for_each_entry(
    const std::filesystem::path& place, const std::function<void(const Entry&)>& take
);

/// By its name, in any case: a file that may be an archive that can be read.
bool is_archive(const std::filesystem::path& file);

/// The name without what says that it is one: "ada" of "ada.tar.gz".
std::string without_ending(const std::filesystem::path& file);

}  // namespace dist::cli
