// The options of step_options.hpp on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "course/lab/step_options.hpp"

namespace dist::lab {

/// Adds the options that all such benches have.
///
/// ways    that there are; measured where none are named.
void add_step_options(CLI::App& app, StepOptions& options, const std::vector<std::string>& ways);

/// Reads the command line.
///
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
void parse(CLI::App& app, int argc, char** argv, std::string& help);

}  // namespace dist::lab
