// Commands that start a program of the course on many ranks, and pass options on to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/cli/commands/command.hpp"
#include "course/cli/process/mpirun.hpp"

namespace dist::cli {

/// What the command does not know is kept for its program, in order: command.remaining().
void pass_on_the_rest(Command& command, Context& context);

/// Builds a target; while its product is not there yet, says so on standard error.
/// Errors  as build_targets
void build_with_notice(
    Context& context,
    const std::string& target,
    const std::filesystem::path& product,
    const std::string& notice
);

/// `mpirun` on the terminal, in the caller's folder. Returns the exit status.
int run_ranks(
    Context& context,
    int ranks,
    Purpose purpose,
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments
);

}  // namespace dist::cli
