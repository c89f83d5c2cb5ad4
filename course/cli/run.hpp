// The run command, as watch uses it.
#pragma once

#include <string>

#include "course/launch/shared_job.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Tests the student's own file in one of `jobs`, and marks progress. Returns the report.
std::string run_whole(Context& context, const Exercise& exercise, SharedJobs& jobs);

}  // namespace dist::cli
