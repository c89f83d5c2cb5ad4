// What bench ddp is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "course/nn/bucket_limits.hpp"

namespace dist::lab {

struct DdpOptions {
    std::string model = "resnet34-imagenet";
    std::int64_t batch = 64;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;
    int rounds = 15;
    std::vector<std::string> ways;
    bool json = false;
    bool progress = false;
    std::string to;
};

/// What was measured of one way.
struct Times {
    std::vector<double> steps_s;  // slowest rank's, of each round
    long differ = 0;              // steps after which a gradient differed from PyTorch's in any bit
};

/// ways    that there are; measured where none are named.
/// help    gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
DdpOptions parse_ddp_options(
    int argc, char** argv, const std::vector<std::string>& ways, std::string& help
);

/// A table, or with --json a document.
std::string to_text(
    const DdpOptions& options,
    const std::map<std::string, Times>& times,
    int ranks,
    const std::string& libtorch
);

}  // namespace dist::lab
