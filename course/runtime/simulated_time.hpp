// On a simulated cluster: what computing takes there. Only in the runtime for SimGrid's MPI.
#pragma once

#include <cstddef>

namespace dist {

/// Seconds that each byte takes to add. The environment, since a program has no say in it.
inline constexpr const char* kEnvSimulatedGamma = "SHARDLINGS_SIMULATED_GAMMA";

/// Lets the simulated clock go on as to add so many bytes takes; by nothing where no time for a byte is set.
void take_time_to_add(std::size_t bytes);

/// Whether all ranks share the pages of this memory: what is written there is lost, so nothing needs to be.
bool has_no_values(const void* memory);

}  // namespace dist
