// What messages and additions of a size cost on this machine, measured in the same run: the constants
// of the cost model.
#pragma once

#include <cstddef>

#include "course/runtime/communicator.hpp"
#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist::lab {

/// What the model is to predict by for a tensor of S bytes: alpha and beta through the medians of
/// exchanges of S, S/2, S/4, ... S/p bytes, in which every rank sends right and receives left at
/// once, and gamma by how much longer an exchange of S takes when what came is added to what was
/// sent. An addition by itself takes less: its numbers would be in this core's cache, not in the one
/// of the rank that has just read them.
///
/// One line for all sizes would be far from most of them: MPI sends short messages in another way
/// than long ones, and a cache is faster than memory.
///
/// budget_s  for each of these measurements; ten exchanges at least. A message is rewritten before
///           each, as an algorithm's input is.
/// Every rank makes this call; all get the same answer.
LinkCost probe_link(std::size_t size_bytes, double budget_s, const Communicator& comm);

}  // namespace dist::lab
