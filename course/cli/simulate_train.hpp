// simulate train: a subcommand of simulate.
#pragma once

#include "course/cli/command.hpp"

namespace dist::cli {

Command add_simulate_train(Command& simulate, Context& context);

}  // namespace dist::cli
