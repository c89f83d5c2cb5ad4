// NCCL calls of the code under test, seen on their way: see nccl_layer.cpp.
#pragma once

#include <cstddef>

#include <nccl.h>

namespace dist::harness {

/// Groups that were started and not ended.
int open_groups();

/// Ends them, and forgets what was in them.
void close_groups();

/// The length of a message of `count` elements.
long bytes_of(std::size_t count, ncclDataType_t type);

}  // namespace dist::harness
