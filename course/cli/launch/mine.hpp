// The student's own stack: which exercises pass, and the build that uses them.
#pragma once

#include <string>
#include <vector>

#include "course/cli/process/context.hpp"

namespace dist::cli {

/// Of the exercises `used` and all that they stand on, those that pass, in course order, found by running
/// them. A verdict is kept by the content of the files that it rests on (.shardlings/verdicts): only
/// what changed is run again.
std::vector<std::string> finished_exercises(Context& context, const std::vector<std::string>& used);

/// One line: which exercises of that stack are the student's, and which the reference's; each stands on
/// the ones after it.
std::string describe_stack(
    const Context& context,
    const std::vector<std::string>& used,
    const std::vector<std::string>& mine
);

/// Configures the build so that the stack named "mine" is made of these exercises and of the
/// reference for the rest.
/// Errors  CommandError, status 1, when there are none.
void configure_mine(Context& context, const std::vector<std::string>& exercises);

}  // namespace dist::cli
