// The train command, as trace uses it.
#pragma once

#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/trainer/options.hpp"

namespace dist::cli {

struct TrainOptions {
    int ranks = 2;
    bool ranks_given = false;
    std::string hostfile;
    std::string stack = "reference";
    std::string transport = "mpi";
    bool help = false;
};

/// Reads what goes to the trainer as the trainer will: a slip is better known now than after LibTorch
/// was installed and the trainer built.
///
/// Errors  UsageError
trainer::Options read_trainer_options(const std::vector<std::string>& words);

/// The exercises that a training with these options calls.
std::vector<std::string> used_by(const trainer::Options& options);

/// Builds the trainer, and runs it on the terminal; `words` are its own options.
void train(Context& context, const TrainOptions& options, const std::vector<std::string>& words);

}  // namespace dist::cli
