// One failed test in words.
#pragma once

#include <string>

#include "course/result/result.hpp"

namespace dist::cli {

/// Everything that helps: sentence, first failing check with its values, where each rank stood,
/// what the student's program printed.
std::string in_full(const TestResult& test);

/// What the program printed during the test, each line with its rank; empty if nothing.
std::string own_output(const TestResult& test, int most_lines);

/// One line, for a test that is not the first to fail.
std::string in_one_line(const TestResult& test);

}  // namespace dist::cli
