// simulate train --mtbf: what failures of ranks cost, with restarts from checkpoints and with quorum_step.
#pragma once

#include <cstdint>
#include <string>

#include "course/cli/command.hpp"
#include "course/cli/simulate_gpt.hpp"

namespace dist::cli {

struct GoodputArguments {
    std::string mtbf;
    std::string mtbf_of_rank;
    std::string checkpoint = "60s";
    std::string restarts = "5m";
    std::string intervals;
    std::string step = "5s";
    int replicas = 0;  // 0: each rank is one
    int failures = 10000;
    std::uint64_t seed = 1;
};

/// `arguments` live as long as the command.
void add_goodput_options(Command& train, GoodputArguments& arguments);

/// Errors  UsageError
void simulate_goodput(
    Context& context,
    const Command& train,
    const GoodputArguments& arguments,
    const TrainOutputs& shared
);

extern const char* const kGoodputHelp;

}  // namespace dist::cli
