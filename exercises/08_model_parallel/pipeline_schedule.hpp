// Exercise 08: in which order the ranks of a pipeline compute, as data: no process is needed to make it.
#pragma once

#include <vector>

#include "course/runtime/error.hpp"
#include "course/runtime/pipeline_actions.hpp"

namespace dist {

enum class ScheduleKind { gpipe, one_forward_one_backward, interleaved, zero_bubble };

/// Makes the computations of all ranks, a row for each. Rank s has stage s; chunk c of it, if it has several, is stage cp + s.
///
/// gpipe        all F, then all B.
/// one_forward_one_backward
///              min(p-1-s, m) F first; then an F and a B in turn; then the B that are left. Also called 1F1B.
/// interleaved  min(2(p-1-s) + (v-1)g, mv) F first; then as 1F1B. Micro-batches stand in groups of
///              g = m / max(1, m div p): F goes through a group once for each chunk, from the first chunk to the last, then
///              through the next group. So does B, from the last chunk to the first.
/// zero_bubble  ZB-H1: as 1F1B, with I in the place of B. Behind the I of micro-batch i >= s stands the W of
///              i - s; the W that are left come last.
///
/// But for groups, F, B, I and W each go through micro-batches 0, 1, ..., m-1.
///
/// p  ranks
/// m  micro-batches
/// v  chunks a rank; 1 unless interleaved
///
/// Cost    no message. GPipe and 1F1B have a bubble of p-1 F and B, interleaved of p-1 F and B of one chunk, zero bubble of
///         p-1 times F + I - W, if m >= p, and W takes no longer than F and I. In flight at most: GPipe m, 1F1B
///         min(p-s, m), zero bubble min(p, m).
/// Errors  std::invalid_argument if one is less than 1, v > 1 and the kind is not interleaved, or the kind is
///         interleaved and m is no multiple of max(1, m div p).
/// Source  Huang et al. (2019), "GPipe"; Narayanan et al. (2021), "Efficient large-scale language model training on GPU
///         clusters", section 2.2; Qi et al. (2024), "Zero bubble pipeline parallelism", section 2; PyTorch,
///         torch/distributed/pipelining/schedules.py.
Schedule pipeline_schedule(ScheduleKind kind, int p, int m, int v = 1);

/// How long a computation of one stage takes, in any unit. B takes I + W.
struct PipelineTimes {
    double forward = 1;
    double input_gradient = 1;
    double weight_gradient = 1;
    double send = 0;  // until a result is at another rank; nobody is busy with it
};

struct PipelineRun {
    std::vector<std::vector<Slot>> rows;  // the computations of each rank
    double total = 0;                     // when the last computation of all ends
    std::vector<double> bubble;           // of each rank: total, less what it computes
    std::vector<int> most_in_flight;      // of each rank: see below
};

/// Runs a schedule on ranks that begin each computation as soon as they have ended the one before, and its input is there.
///
/// The input of F is the F of the stage before; that of I and B is the same stage's F and, but for the last stage, the
/// next stage's I or B; that of W is the same stage's I. The last stage is the highest that a row has. Messages
/// in rows are left out: what they cost is times.send, where the stages have different ranks.
///
/// In flight on a rank is what has begun its F, and not ended its B or W: each counts once for each of its stages.
///
/// Errors  std::invalid_argument that has the cell of a computation whose input never comes: "1F0".
PipelineRun simulate_schedule(const Schedule& rows, const PipelineTimes& times = {});

}  // namespace dist
