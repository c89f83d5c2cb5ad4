// What a student may read of a record.
#pragma once

#include <string>
#include <vector>

#include "course/grade/record.hpp"

namespace dist::cli {

/// Leaves out this machine's places, makes commands the student's own, and shortens texts that are too long.
///
/// places  folders in which answers lie here, each in one with a number
void make_for_the_student(Grade& value, const std::vector<std::string>& places);

}  // namespace dist::cli
