// What benches that measure whole steps of training are asked in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "course/nn/bucket_limits.hpp"

namespace CLI {
class App;
}

namespace dist::lab {

struct StepOptions {
    std::string model = "resnet34-imagenet";
    std::int64_t batch = 64;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;
    int rounds = 15;
    std::vector<std::string> ways;
    bool json = false;
    bool progress = false;
    std::string to;
};

/// Adds them to a command line.
///
/// ways    that there are; measured where none are named.
void add_step_options(CLI::App& app, StepOptions& options, const std::vector<std::string>& ways);

/// Reads the command line.
///
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
void parse(CLI::App& app, int argc, char** argv, std::string& help);

}  // namespace dist::lab
