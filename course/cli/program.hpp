// Reads the command line; one file per command does the work.
#pragma once

namespace dist::cli {

/// What main() does. Returns the exit status.
int run_program(int argc, char** argv);

}  // namespace dist::cli
