// Reads what one student has handed in, in one place or in several.
#pragma once

#include <filesystem>
#include <vector>

#include "course/grade/file_names.hpp"
#include "course/grade/submissions.hpp"

namespace dist::cli {

/// A submission without its name. `places` are folders, archives, and files named by Canvas; `root` is the course's.
///
/// Errors  Interrupted; all else is a note
Submission read_submission(
    const std::vector<std::filesystem::path>& places,
    const Wanted& wanted,
    const std::filesystem::path& root
);

}  // namespace dist::cli
