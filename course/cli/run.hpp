// The run command, as watch uses it.
#pragma once

#include <string>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Tests the student's own file, and marks progress. Returns the report.
std::string run_whole(Context& context, const Exercise& exercise);

}  // namespace dist::cli
