// Whether a test is as new as what it is made of, without the build tool.
#pragma once

#include <filesystem>

#include "course/process/context.hpp"

namespace dist::cli {

/// Whether a file that tests are made of, beside answers, has changed since `time`, or has come or gone: those of the course, the
/// harness, the tests, the references and the headers of exercises. Takes a hundredth of a second.
bool anything_newer(const Context& context, std::filesystem::file_time_type time);

}  // namespace dist::cli
