// Exercise 03: the all-reduce that is fastest for this size and this many ranks, by the cost model.
#pragma once

#include <cstddef>
#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"
#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist {

/// The algorithm with the smallest predicted_s; of equal ones the first in the enum's order.
///
/// bytes   of the whole tensor.
/// p       how many ranks, >= 1.
///
/// Errors  std::invalid_argument if p < 1.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH": when to choose which.
AllReduceAlgorithm choose(std::size_t bytes, int p, LinkCost link);

/// Reduces `data` element-wise over all ranks, by the algorithm that `choose` names; every rank
/// ends with the same result.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank.
/// op      how two elements combine.
/// link    the same on every rank, so that all ranks choose alike.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    that of all_reduce, ring_all_reduce, recursive_doubling_all_reduce or
///         halving_doubling_all_reduce; no message beside theirs.
/// Errors  dist::Error if a message fails.
void auto_all_reduce(std::span<float> data, ReduceOp op, LinkCost link, const Communicator& comm);

}  // namespace dist
