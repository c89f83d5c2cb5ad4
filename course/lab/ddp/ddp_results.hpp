// What bench ddp is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <string>
#include <vector>

#include "course/lab/blocks.hpp"
#include "course/lab/step_options.hpp"

namespace dist::lab {

/// ways    that there are; measured where none are named.
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
StepOptions parse_ddp_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
);

/// A table, or with --json a document.
///
/// blocks  of one round each: the ways in the order of the options.
/// differ  of each way, rounds after which a gradient differed from PyTorch's in any bit.
std::string to_text(
    const StepOptions& options,
    const std::vector<Block>& blocks,
    const std::vector<long>& differ,
    int ranks,
    const std::string& libtorch
);

}  // namespace dist::lab
