// Puts a stub back.
#pragma once

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"

namespace dist::cli {

/// Restores the committed stub of `exercise`; the student's file goes to .shardlings/backup/TIME/.
/// Errors  CommandError when git knows no stub, or a file cannot be written.
void reset(Context& context, const Exercise& exercise);

}  // namespace dist::cli
