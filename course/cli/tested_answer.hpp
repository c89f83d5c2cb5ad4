// What the test of an exercise says of an answer, before the answer is used for something else.
#pragma once

#include <string>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Runs the answer's test, unless the verdict on the exercise's own file is known and still holds. Says on standard error why
/// the test does not pass.
///
/// as       the file in the place of the exercise's own; empty: that one.
///
/// Returns  that sentence; empty if the test passes, or cannot run on this machine.
/// Errors   CommandError if the answer does not build, or is not started.
std::string refusal_by_test(Context& context, const Exercise& exercise, const std::string& as);

}  // namespace dist::cli
