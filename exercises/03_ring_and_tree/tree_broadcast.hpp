// Exercise 03: a broadcast in which everyone who has the data helps. It doubles in each round.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Copies the root's `data` to every rank, along a binomial tree.
///
/// Places are counted from the root: rank r has place (r - root) mod p. Before the round of
/// distance d = 1, 2, 4, ... the places below d have the data; in that round, each of them sends
/// to the place d further on, if there is one.
///
/// data    in on the root, out on all others. Length n >= 0, the same on every rank.
/// root    the rank that has the data; the same on every rank.
/// comm    collective: every rank of `comm` makes this call; any p.
///
/// Cost    each rank but the root receives one message of n floats, p-1 in all, in log2 p rounds
///         (rounded up); none sends more than one a round.
/// Errors  dist::Error if a message fails; std::invalid_argument if root is not a rank of comm.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH": binomial tree.
void tree_broadcast(std::span<float> data, int root, const Communicator& comm);

}  // namespace dist
