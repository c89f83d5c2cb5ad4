// A known answer as a difference against the one that it was made from.
#pragma once

#include "course/check/series.hpp"

namespace dist::cli {

/// Prints what is wrong with the answer, how it must be refused, and the difference; in colours on a terminal alone.
///
/// series  the answer's
/// Errors  UsageError where it is a change that no longer applies
void show(const Context& context, const Series& series, const Trial& trial);

}  // namespace dist::cli
