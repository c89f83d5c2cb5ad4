// The trainer's command line, as far as it tells of what is written.
#pragma once

#include <CLI/CLI.hpp>

#include "course/trainer/options.hpp"

namespace dist::trainer {

/// --log, --trace, --flight-records, --diagnose, --checkpoint and what goes with it, --sample, and --timeout.
void declare_output(CLI::App& app, Options& options);

}  // namespace dist::trainer
