// What benches that measure whole steps of training are asked in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "course/nn/bucket_limits.hpp"

namespace dist::lab {

struct StepOptions {
    std::string model = "resnet34-imagenet";
    std::int64_t batch = 64;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;
    int rounds = 15;
    int most_rounds = 45;       // where the times have not settled by then
    bool shares_cores = false;  // ranks do, and are interrupted by each other
    std::vector<std::string> ways;
    bool json = false;
    bool progress = false;
    std::string to;
};

}  // namespace dist::lab
