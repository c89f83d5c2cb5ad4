// A run as compilers report: a line for each failed test, for editors.
#pragma once

#include <string>

#include "course/result/result.hpp"

namespace dist::cli {

/// "exercises/01_point_to_point/ring_shift.cpp:20: error: TEST: what is wrong", a line for each test that was not passed.
/// The line of the file is 1 where no rank stood in it. What the compiler said, where the file did not build.
std::string as_problems(const Result& result);

}  // namespace dist::cli
