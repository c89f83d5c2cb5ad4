// NCCL calls of the code under test, seen on their way: see nccl_layer.cpp.
#pragma once

namespace dist::harness {

/// Groups that were started and not ended.
int open_groups();

/// Ends them, and forgets what was in them.
void close_groups();

}  // namespace dist::harness
