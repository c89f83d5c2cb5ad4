// The trainer's command line, as far as it tells of experts.
#pragma once

#include <CLI/CLI.hpp>

#include "course/trainer/options.hpp"

namespace dist::trainer {

/// --experts, --expert-choices, --capacity-factor and --balance.
void declare_experts(CLI::App& app, Options& options);

/// app     has parsed them.
///
/// Errors  Stop, with one line, if there can be no such experts, or not with other options.
void expect_experts(const CLI::App& app, const Options& options);

}  // namespace dist::trainer
