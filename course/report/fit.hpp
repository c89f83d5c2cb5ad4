// A report on a screen that is smaller than it.
#pragma once

#include <string>

#include "course/process/screen.hpp"

namespace dist::cli {

/// The report, folded, in as many rows as there are. When it is longer, tests that passed are left out (their
/// number stays); when that is not enough, so is the middle: what fails first stands above it, what to
/// type next below.
///
/// name  of the exercise, for the command that shows it whole.
std::string fitted(const std::string& report, const Screen& screen, const std::string& name);

}  // namespace dist::cli
