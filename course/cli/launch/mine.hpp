// The student's own stack: which exercises pass, and the build that uses them.
#pragma once

#include <string>
#include <vector>

#include "course/cli/process/context.hpp"

namespace dist::cli {

/// The exercises that pass, in course order. What run, watch and verify have found holds as long as
/// the files that it rests on stay the same: only what is unknown or has changed is run.
/// torch  with the exercises that need LibTorch, too.
std::vector<std::string> finished_exercises(Context& context, bool torch);

/// Configures the build so that the stack named "mine" is made of these exercises and of the
/// reference for the rest.
/// Errors  CommandError, status 1, when there are none.
void configure_mine(Context& context, const std::vector<std::string>& exercises);

}  // namespace dist::cli
