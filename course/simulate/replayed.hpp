// Collectives of MPI libraries as SMPI replays them: by their messages alone, without data, so that any number of ranks
// fits into memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "course/process/context.hpp"
#include "course/simulate/cluster.hpp"

namespace dist::cli {

/// The simulated time of one call of `collective`, to the microsecond.
///
/// setting  that says which algorithm: "smpi/allreduce:lr".
/// Returns  nothing where SMPI cannot: most collectives, and selectors that ask what operation it is (in 3.32 mpich and
///          mvapich2).
std::optional<double> replayed_s(
    const Context& context,
    const Cluster& cluster,
    int ranks,
    const std::string& collective,
    std::size_t bytes,
    const std::string& setting
);

}  // namespace dist::cli
