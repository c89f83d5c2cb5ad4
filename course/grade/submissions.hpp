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
    /// The student's number in Canvas, where its files are named by it; else empty.
    std::string canvas_id;
    /// The text of each exercise that was found, by the exercise's name; its lines end with LF.
    std::map<std::string, std::string> files;
    /// Why an exercise has none, though there is something: two files that differ.
    std::map<std::string, std::string> unclear;
    /// The time of the newest of these files, where somebody noted it.
    std::optional<std::chrono::sys_seconds> changed;
    /// What was not taken, and what an instructor should look at; a sentence each.
    std::vector<std::string> notes;
};

struct HandedIn {
    std::vector<Submission> submissions;
    std::vector<std::string> notes;  // on what is nobody's, a sentence each
};

/// Reads all that lies in `folder`: folders, archives (zip, 7z, tar, and compressed ones), and files that Canvas has named. What bears
/// one name, such as `ada` and `ada.zip`, is one submission. Of each, the files of the manifest are taken, by their names and at any
/// depth; in a copy of the whole course, those in exercises/. Nothing is unpacked onto the disk. What looks like an answer and is not
/// taken is noted.
///
/// root  of the course: a header that is the course's own is not noted
/// zone  what a time without a zone, as a zip may have it, is ahead of UTC
///
/// Errors  UsageError when the folder is not there, or has no submission in it; Interrupted
HandedIn read_submissions(
    const std::filesystem::path& folder,
    const Manifest& manifest,
    const std::filesystem::path& root,
    std::chrono::minutes zone = std::chrono::minutes(0)
);

/// The same word for the same text, in every run.
std::string digest(const std::string& text);

/// `bytes` with every one that is no UTF-8, or no character to be seen, as \xNN.
std::string as_text(std::string_view bytes);

}  // namespace dist::cli
