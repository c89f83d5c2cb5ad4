// What a rank of a mesh sends and holds in a step of the trainer's GPT, by formula.
//
// simulate train --model gpt has formulas for another program: Megatron's GPT, in 16 bits, with dropout and one table
// for both ends, in seconds and for the rank that holds most. These are of the course's own, to the byte, for each rank.
#pragma once

#include "course/lab/mesh/mesh_results.hpp"
#include "course/trainer/options.hpp"

namespace dist::lab {

/// Where a rank stands, in each dimension of its mesh.
struct MeshPlace {
    int dp = 0;
    int pp = 0;
    int cp = 0;
    int tp = 0;
};

/// By chapter:
///
///     dp           averages gradients: a ring over the ranks that hold the same parameters, those of dp and cp. With
///                  --zero reduce-scatters and all-gathers of rows instead (07).
///     pp           m outputs to the next stage, m gradients to the one before (08, pipeline).
///     cp           keys and values go round, for each block: 3c - 2 messages (ring_attention).
///     tp           of each block four all-reduces of its activations, and some at both ends (tensor_parallel,
///                  vocab_parallel); or what sequence_parallel has in their place.
///     parameters, gradients, optimizer
///                  memory_model's (07), of a rank's part: 1 / (tp pp), but for norms and some biases.
///     activations  what autograd keeps of the micro-batches in flight, with 1F1B min(p - s, m), and the batch's words.
///                  Not what a layer needs while it computes, nor messages on their way.
///
/// options  of --parallel 3d; `batch` windows for each part of dp.
MeshBytes mesh_formula(const trainer::Options& options, const MeshPlace& place);

}  // namespace dist::lab
