// Reads the command line; one file per command does the work.
#pragma once

#include <span>

#include "course/cli/command.hpp"

namespace dist::cli {

using AddCommand = void (*)(Command& app, Context& context);

/// What main() does, with the commands that this program has. Returns the exit status.
int run_program(int argc, char** argv, std::span<const AddCommand> commands);

}  // namespace dist::cli
