// How many single changes of a reference its test refuses: the measure of a test, beside the wrong answers that people thought of.
#pragma once

#include <cstdint>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

struct ScoreOptions {
    int sample = 40;         // changes of each exercise that are tried
    std::uint64_t seed = 1;  // which
};

/// Tries changes in the place of each answer, prints each that passes as soon as it does, and then the counts. Left out are changes
/// that do not compile, that make the reference's object code or another change's, and those that are known as equal programs.
/// Returns the exit status: kFailed where one passes, or an exercise cannot be scored; kSkipped where the tool is not there.
int score(
    Context& context, const std::vector<const Exercise*>& exercises, const ScoreOptions& options
);

}  // namespace dist::cli
