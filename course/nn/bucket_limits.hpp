// How large buckets of gradients are, as in PyTorch's DistributedDataParallel.
#pragma once

#include <cstddef>

namespace dist::nn {

inline constexpr std::size_t kMebibyte = 1024UL * 1024UL;

/// Bytes at which a bucket is full: the first is small, to be on its way soon.
inline constexpr std::size_t kFirstBucketBytes = 1 * kMebibyte;
inline constexpr std::size_t kBucketBytes = 25 * kMebibyte;

}  // namespace dist::nn
