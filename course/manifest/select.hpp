// Which exercise a command means.
#pragma once

#include <string>

#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"

namespace dist::cli {

/// The exercise of that name or, without one, the current exercise.
/// Errors  UsageError for a name that does not exist; CommandError, status 0, when all are done.
inline const Exercise& select_exercise(
    const Manifest& manifest, const Progress& progress, const std::string& name
) {
    if (!name.empty()) {
        return manifest.find(name);
    }
    const Exercise* current = current_exercise(manifest, progress);
    if (current == nullptr) {
        throw CommandError(
            exit_status::kDone,
            "all exercises that can run here are done; name one to see it again: ./shardlings list"
        );
    }
    return *current;
}

/// Lets a reference solution be seen after a pass, or by force.
/// Errors  CommandError, status 1, otherwise.
inline void expect_earned(const Exercise& exercise, const Progress& progress, bool force) {
    if (!force && progress.done.count(exercise.name) == 0) {
        throw CommandError(
            exit_status::kFailed, exercise.name + " does not pass yet: ./shardlings hint " +
                                      exercise.name +
                                      " helps, and --force shows the solution all the same"
        );
    }
}

}  // namespace dist::cli
