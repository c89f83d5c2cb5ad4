// The run command, as watch uses it.
#pragma once

#include <string>

#include "course/cli/exercises/manifest.hpp"
#include "course/cli/process/context.hpp"

namespace dist::cli {

/// Tests the student's own file, and marks progress. Returns the report.
std::string run_whole(Context& context, const Exercise& exercise);

}  // namespace dist::cli
