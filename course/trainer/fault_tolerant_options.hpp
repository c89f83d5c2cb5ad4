// The trainer's command line, as far as it tells of replicas that come and go: --fault-tolerant.
#pragma once

#include <CLI/CLI.hpp>

#include "course/trainer/options.hpp"

namespace dist::trainer {

void declare_fault_tolerance(CLI::App& app, Options& options);

/// app     has parsed them.
///
/// Errors  Stop, with one line, for what such a run does not have.
void expect_fault_tolerance(const CLI::App& app, const Options& options);

}  // namespace dist::trainer
