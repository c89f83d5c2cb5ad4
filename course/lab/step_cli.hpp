// What benches of whole steps have in common without LibTorch: the options of step_options.hpp on a command line, and
// what is said of the times.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "course/lab/blocks.hpp"
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

/// The time of way `a` over that of way `b`, and its mark: "1.48", "1.01=", "0.97?".
///
/// blocks        of one round each.
/// shares_cores  ranks do: less is a lead where they do not.
std::string ratio_text(
    const std::vector<Block>& blocks, std::size_t a, std::size_t b, bool shares_cores
);

/// What the marks mean, and which times have not settled, for the foot of a table.
std::string marks_explained(const std::vector<std::string>& ways, const std::vector<Block>& blocks);

/// The slowest rank's seconds of each round.
std::vector<double> steps_of(const std::vector<Block>& blocks, std::size_t way);

}  // namespace dist::lab
