// The time that no algorithm can beat on this machine: what has to happen, at the best rates seen in
// the same run.
#pragma once

#include <map>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// What must happen whatever the algorithm: some rank has to go through touched * S bytes at least, since p
/// ranks read what is put in and write what comes out. Through received * S if it is made of messages, as each
/// message's bytes are copied once; and then an input reaches every rank only over ceil(log2 p) messages that
/// follow one another. (How MPI's own algorithm does it is not known: it may use shared memory.)
struct LowerBound {
    int p = 1;
    double received = 0.0;  // as in Collective
    double touched = 1.0;
    double hop_s = 0.0;                              // a message of 4 bytes
    std::map<std::size_t, double> pass_bytes_per_s;  // by length: read and written again

    /// For a tensor of `size_bytes`. The rate is the highest for lengths of S/p or more: some rank
    /// cannot keep all that it goes through closer to its core than a p-th of a tensor. 0 when p = 1.
    [[nodiscard]] double seconds(std::size_t size_bytes, Means means) const;

    /// A call of `size_bytes` took so long: whatever it had to go through, it went through at this rate at least. The
    /// fastest calls of a run are among the best rates seen in it, so no efficiency is above 1.
    void learn(std::size_t size_bytes, Means means, double fastest_s);
};

/// Measures half of a round trip between ranks 0 and 1, and then on rank 0, while the others wait,
/// how long it takes to read and write memory of S/p bytes in place, for every size S, and of 16 KiB;
/// these in `budget_s` each. The fastest counts.
///
/// Every rank makes this call; all get the same answer.
LowerBound probe_lower_bound(
    const Collective& collective,
    const std::vector<std::size_t>& sizes_bytes,
    double budget_s,
    const Communicator& comm
);

}  // namespace dist::lab
