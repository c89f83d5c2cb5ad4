// Which exercises a grading is about.
#pragma once

#include <string>
#include <vector>

#include "course/grade/submissions.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Those that are named, or else those that anybody has worked on; in course order. Notes which of those handed in are left out.
/// Errors  UsageError for a name that is no exercise's, or where there is none to grade
std::vector<const Exercise*> exercises_to_grade(
    const Context& context,
    const Manifest& manifest,
    const std::vector<std::string>& names,
    HandedIn& handed_in
);

}  // namespace dist::cli
