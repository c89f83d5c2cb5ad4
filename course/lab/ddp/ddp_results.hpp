// What bench ddp is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "course/lab/step_options.hpp"

namespace dist::lab {

/// What was measured of one way.
struct Times {
    std::vector<double> steps_s;  // slowest rank's, of each round
    long differ = 0;              // steps after which a gradient differed from PyTorch's in any bit
};

/// ways    that there are; measured where none are named.
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
StepOptions parse_ddp_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
);

/// A table, or with --json a document.
std::string to_text(
    const StepOptions& options,
    const std::map<std::string, Times>& times,
    int ranks,
    const std::string& libtorch
);

}  // namespace dist::lab
