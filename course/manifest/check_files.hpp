// What an exercise is made of, and whether all of it is there.
#pragma once

#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// What is missing or unfinished, a sentence each: files, header, hints, TODO, mutants, lesson.
std::vector<std::string> missing_parts(const Context& context, const Exercise& exercise);

/// The stub as committed, whatever the student has written since; the file itself without git.
std::string stub_text(const Context& context, const Exercise& exercise);

}  // namespace dist::cli
