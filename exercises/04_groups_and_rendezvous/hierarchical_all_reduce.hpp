// Exercise 04: an all-reduce for nodes that are fast inside, with a slow network between them.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// The two groups that a rank is in, where every node has L ranks and there are M nodes.
struct Nodes {
    Communicator node;    // the L ranks of its node, in the order of comm
    Communicator across;  // the M ranks that have its number in their nodes, in the order of comm
};

/// Finds them, where ranks are dealt out to nodes one node after the other: rank r is rank r % L of node r / L.
///
/// per_node  L >= 1, a divisor of comm.size(): every node has equally many ranks.
/// comm      collective: every rank of `comm` makes this call.
///
/// Cost    what comm.split() takes, and no message beside it.
/// Errors  std::invalid_argument, before any message, if L is less than 1 or does not divide comm.size().
Nodes make_nodes(int per_node, const Communicator& comm);

/// Reduces `data` element-wise over all ranks of all nodes; every rank ends with the same result, bit for bit.
///
/// First the ranks of a node reduce-scatter: rank i of each node has the node's sum of chunk i. Then those with the same
/// number all-reduce this chunk across nodes, all numbers at the same time. Then each node gathers its chunks.
///
/// data    in: this rank's contribution, out: the reduction. Length n >= 0, the same on every rank; neither L nor
///         M need divide n.
/// op      how two elements combine; mean adds up and divides by L * M, once.
/// nodes   as make_nodes() makes them. Collective: all ranks of all nodes make this call.
///
/// Cost    per rank at most 2(L-1) messages and 2(L-1)ceil(n/L) floats to its node, 2(M-1) messages
///         and 2(M-1)ceil(ceil(n/L)/M) floats to other nodes, in 2(L-1) + 2(M-1) rounds; partners
///         are the neighbours on both rings. Memory for two chunks of ceil(n/L) floats beside data,
///         at most.
/// Errors  dist::Error if a message fails.
/// Source  Horovod, horovod/common/ops/nccl_operations.cc, NCCLHierarchicalAllreduce; Cho et al. (2019),
///         "BlueConnect: Decomposing all-reduce for deep learning on heterogeneous network hierarchy".
void hierarchical_all_reduce(std::span<float> data, ReduceOp op, const Nodes& nodes);

}  // namespace dist
