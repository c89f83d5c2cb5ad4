// The time that no algorithm made of messages can beat on this machine, probed in the same run.
#pragma once

#include <map>
#include <vector>

#include "course/lab/registry.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// What an exchange between neighbours costs: every rank sends right and receives left, at once.
struct LowerBound {
    int p = 1;
    double bus_factor = 0.0;
    double alpha_s = 0.0;                                  // an exchange of 4 bytes
    std::map<std::size_t, double> bytes_per_s_of_message;  // by message size: sent by each rank

    /// The larger of two bounds: ceil(log2 p) exchanges must follow one another before every input
    /// can have reached every rank; and some rank must send bus_factor * S bytes, at best at the
    /// highest rate seen for messages of S/p bytes or more. 0 when p = 1.
    [[nodiscard]] double seconds(std::size_t size_bytes) const;
};

/// Measures exchanges of S/p bytes for every size S, and of 4 bytes and 1 MiB: the fastest of
/// those made in `budget_s` each. The message is rewritten before each, as an algorithm's input is.
///
/// Every rank makes this call; all get the same answer.
LowerBound probe_lower_bound(
    const Collective& collective,
    const std::vector<std::size_t>& sizes_bytes,
    double budget_s,
    const Communicator& comm
);

}  // namespace dist::lab
