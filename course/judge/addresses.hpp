// From addresses in an executable to lines that somebody wrote.
#pragma once

#include <filesystem>

#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// Fills every `where` of `tests` from the frames: the innermost one in `file`, the file under
/// test, otherwise in a reference solution, otherwise in the test; every `reference` that the file
/// under test called there; and the calls of traced messages.
void locate(
    const Context& context,
    const std::filesystem::path& executable,
    const std::filesystem::path& file,
    std::vector<TestResult>& tests
);

}  // namespace dist::cli
