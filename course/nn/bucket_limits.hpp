// How large buckets of gradients are, as in PyTorch's DistributedDataParallel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dist::nn {

inline constexpr std::size_t kBucketCapMb = 25;  ///< MiB, as PyTorch's bucket_cap_mb

/// Bytes at which a bucket is full, of the first and of all others: the first is small, to be on its way
/// soon. With 0, each parameter is a bucket.
inline std::vector<std::size_t> bucket_limits(std::size_t bucket_cap_mb) {
    constexpr std::size_t kMebibyte = 1024UL * 1024UL;
    const std::size_t bytes = std::max<std::size_t>(1, bucket_cap_mb * kMebibyte);
    return {std::min(kMebibyte, bytes), bytes};
}

}  // namespace dist::nn
