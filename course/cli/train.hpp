// The train command, as trace uses it.
#pragma once

#include <string>
#include <vector>

#include "course/process/context.hpp"

namespace dist::cli {

struct TrainOptions {
    int ranks = 2;
    bool ranks_given = false;
    std::string hostfile;
    std::string stack = "reference";
    std::string transport = "mpi";
    bool help = false;
};

/// Builds the trainer, and runs it on the terminal; `words` are its own options.
void train(Context& context, const TrainOptions& options, const std::vector<std::string>& words);

}  // namespace dist::cli
