// "Again, exactly this": whether the line under a failed run keeps its word.
#pragma once

#include <string>

#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// Runs the line that is said to repeat the first failed test of `result`. Returns what it ended with
/// instead, as "'LINE' ends with ..."; empty when the same test fails in the same state.
std::string replay(const Context& context, const Result& result);

}  // namespace dist::cli
