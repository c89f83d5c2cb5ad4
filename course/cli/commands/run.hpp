// The run command, as watch and demo use it.
#pragma once

#include "course/cli/exercises/manifest.hpp"
#include "course/cli/process/context.hpp"

namespace dist::cli {

/// Tests the student's own file; marks progress, prints the report, returns the exit status.
int run_and_report(Context& context, const Exercise& exercise);

}  // namespace dist::cli
