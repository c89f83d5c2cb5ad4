// Runs of `simulate` in tests.
#pragma once

#ifdef SHARDLINGS_CLI
#include <string>
#include <vector>

#include "course/process/subprocess.hpp"

inline dist::cli::Ended simulate(const std::vector<std::string>& words) {
    std::vector<std::string> command = {SHARDLINGS_CLI, "simulate"};
    command.insert(command.end(), words.begin(), words.end());
    dist::cli::Context context;
    context.root = REPOSITORY;
    dist::cli::RunOptions options;
    options.environment = {{"SHARDLINGS_ROOT", REPOSITORY}};
    return run(context, command, options);
}
#endif
