// What `auto` runs, and what the cost model would have run in its place.
#pragma once

#include <cstddef>
#include <string>

#include "course/lab/measure.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// The choice for one size.
struct Choice {
    std::size_t size_bytes = 0;
    Algorithm best;                // the fastest of the trial
    Algorithm by_model;            // what auto_all_reduce's `choose` names
    double model_over_best = 1.0;  // times of the trial
};

/// Tries the four algorithms of cost_model at this size, and asks `choose` with the constants that
/// probe_link finds.
///
/// Why a trial: the model gives every rank a link and a core of its own, and the same constants to all
/// algorithms. In it naive never wins from two ranks on, whatever the constants are; where ranks share
/// memory and cores it does.
///
/// Every rank makes this call; all get the same answer.
Choice choose_by_trial(
    std::size_t size_bytes, const Effort& effort, Workspace& workspace, const Communicator& comm
);

}  // namespace dist::lab
