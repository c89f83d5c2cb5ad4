// Fits a report to a screen that is too small for it.
#pragma once

#include <string>

#include "course/process/screen.hpp"

namespace dist::cli {

/// The report, folded, in at most as many rows as the screen has. If it is longer, it leaves out tests that passed (their
/// number stays). If that is not enough, it leaves out the middle: it keeps the first failure above, and what to
/// type next below.
///
/// name  of the exercise, for the command that shows it whole.
std::string fitted(const std::string& report, const Screen& screen, const std::string& name);

}  // namespace dist::cli
