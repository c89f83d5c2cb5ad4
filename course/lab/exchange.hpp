// What messages and additions of a size cost on this machine, measured in the same run.
#pragma once

#include <cstddef>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist::lab {

/// Times exchanges of n floats: every rank sends right and receives left, at once. The message is
/// rewritten before each, as an algorithm's input is.
///
/// returns  seconds of each exchange, the slowest rank's counting: as many as fit in `budget_s`, ten
///          at least. The same on every rank.
///
/// Every rank makes this call.
std::vector<double> exchanges_s(std::size_t n, double budget_s, const Communicator& comm);

/// What auto_all_reduce is to choose by for a tensor of S bytes: alpha and beta through the medians
/// of exchanges of S, S/2, S/4, ... S/p bytes, and gamma by how much longer an exchange of S takes
/// when what came is added to what was sent. An addition by itself takes less: its numbers would be
/// in this core's cache, not in the one of the rank that has just read them.
///
/// One line for all sizes would be far from most of them: MPI sends short messages in another way
/// than long ones, and a cache is faster than memory.
///
/// budget_s  for each of these measurements.
/// Every rank makes this call; all get the same answer.
LinkCost probe_link(std::size_t size_bytes, double budget_s, const Communicator& comm);

}  // namespace dist::lab
