// How large buckets of gradients are, as in PyTorch's DistributedDataParallel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dist::nn {

inline constexpr std::size_t kBucketCapMb = 25;  ///< MiB, as PyTorch's bucket_cap_mb

/// Bytes at which a bucket is full, of the first and of all others: the first is small, to be on its way
/// soon.
inline std::vector<std::size_t> bucket_limits(std::size_t bucket_cap_mb) {
    constexpr std::size_t kMebibyte = 1024UL * 1024UL;
    return {std::min<std::size_t>(1, bucket_cap_mb) * kMebibyte, bucket_cap_mb * kMebibyte};
}

}  // namespace dist::nn
