// What an instructor is told of a grading: a line for each submission, and what to look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "course/grade/due.hpp"
#include "course/grade/graded.hpp"
#include "course/grade/grading.hpp"

namespace dist::cli {

/// What to look at, a sentence each.
///
/// file  that `due` was read from
std::vector<std::string> notes_on(
    const HandedIn& handed_in, const std::optional<Due>& due, const std::string& file
);

/// Prints it. Returns the exit status: kOurs where some could not be graded through no fault of theirs.
int print_summary(
    const std::vector<Submission>& submissions,
    std::span<const Graded> all,
    const std::vector<std::string>& notes,
    const std::string& out
);

}  // namespace dist::cli
