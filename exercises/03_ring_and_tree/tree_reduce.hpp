// Exercise 03: a reduction along a tree. The ranks that hold a partial result halve in each round.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Reduces `data` element-wise over all ranks to the root, along a binomial tree: tree_broadcast
/// backwards.
///
/// Places are counted from the root: rank r has place (r - root) mod p. The distances d are the
/// powers of two below p, the largest first. In the round of distance d the places from d to 2d - 1
/// send what they have to the place d before, which adds it to its own; after it, only the places
/// below d hold partial results.
///
/// data    in: this rank's contribution, length n >= 0, the same on every rank. Out: the reduction
///         on the root; on all other ranks it is left as it was.
/// op      how two elements combine; mean adds up and divides by p, once.
/// root    the rank that gets the result; the same on every rank.
/// comm    collective: every rank of `comm` makes this call; any p.
///
/// Cost    each rank but the root sends one message of n floats, p-1 in all, in log2 p rounds
///         (rounded up); none receives more than one a round.
/// Errors  dist::Error if a message fails; std::invalid_argument if root is not a rank of comm.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH": binomial tree.
void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm);

}  // namespace dist
