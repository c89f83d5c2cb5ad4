// The tools of binutils, over what was built.
#pragma once

#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

/// Runs a tool in the build folder.
/// Errors  CommandError where it finds no room on the disk
Ended run_tool(const Context& context, const std::vector<std::string>& command);

/// What a tool says.
/// Errors  as run_tool; CommandError where it cannot read what was built
std::string output_of_tool(const Context& context, const std::vector<std::string>& command);

}  // namespace dist::cli
