// A fault that a test asks for: this rank dies, stops or throws before a step, a parameter server as well.
#pragma once

#include <cstddef>

namespace dist::trainer {

/// Does what the environment's SHARDLINGS_FAULT=RANK:STEP:KIND:ROUND asks for, where `rank` and `step` are the ones that it
/// names, and SHARDLINGS_ROUND is ROUND; nothing without it. There may be several, with commas between them.
///
/// KIND   kill (SIGKILL), stop (SIGSTOP), exit (status 3) or throw.
/// ROUND  of the launcher, so that the run which goes on is not hit again; with --fault-tolerant the life of the replica.
///
/// Errors  std::runtime_error, for throw.
void inject_fault(int rank, std::size_t step);

}  // namespace dist::trainer
