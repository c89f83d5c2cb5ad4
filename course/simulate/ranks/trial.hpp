// A short call of each operation on data whose result is known.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "course/algorithms/registry.hpp"

namespace dist::simulation {

/// Elements that were wrong on any rank, and the operation whose result they were. -1: nothing was tried.
struct Wrong {
    long elements = -1;
    std::string op;  // "mean"; empty: all were right, or the collective combines nothing
};

/// Calls the algorithm with this rank's contribution, in both places.
using TrialCall =
    std::function<void(std::span<const float> in, std::span<float> data, ReduceOp op)>;

/// Tries the algorithm on a few elements a rank: where it reduces with sum, mean, product, min and max (of a library's row, with
/// sum). The first operation that is wrong ends it. On more than 64 ranks nothing is tried.
Wrong try_values(
    const lab::Algorithm& algorithm,
    const lab::Collective& collective,
    const TrialCall& call,
    const Communicator& comm
);

}  // namespace dist::simulation
