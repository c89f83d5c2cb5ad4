// What students handed in: a folder with a folder or an archive for each of them.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"

namespace dist::cli {

struct Submission {
    std::string name;
    /// The text of each exercise that was found, by the exercise's name.
    std::map<std::string, std::string> files;
    /// Why an exercise has none, though there is something: two files that differ.
    std::map<std::string, std::string> unclear;
    /// The time of the newest of these files, where somebody noted it.
    std::optional<std::chrono::sys_seconds> changed;
    /// What was not taken, and what an instructor should look at; a sentence each.
    std::vector<std::string> notes;
};

/// Reads every folder and archive (zip, tar, and compressed ones) in `folder`. Of each, the files of the
/// manifest are taken, by their names and at any depth; nothing is unpacked onto the disk. Links, names that
/// climb out, names that are no UTF-8, and what is too long are left and noted.
///
/// Errors  UsageError when the folder is not there, or has nothing in it.
std::vector<Submission> read_submissions(
    const std::filesystem::path& folder, const Manifest& manifest
);

/// The same word for the same text, in every run.
std::string digest(const std::string& text);

/// `bytes` with every one that is no UTF-8, or no character to be seen, as \xNN.
std::string as_text(std::string_view bytes);

}  // namespace dist::cli
