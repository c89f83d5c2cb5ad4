// What the algorithms take on ranks of which each has a link of its own, in seconds: what happens in a row.
#pragma once

#include <cstddef>

#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist::lab {

/// bytes   of the whole tensor.
/// p       ranks; 1 needs no message.
using Model = double (*)(std::size_t bytes, int p, const LinkCost& link);

/// Nodes of equally many ranks, with one network inside of each and another one between them.
struct NodeCosts {
    int per_node = 1;
    LinkCost inside;
    LinkCost between;
};

/// As Model, on p ranks that are dealt out to nodes one node after the other.
using NodeModel = double (*)(std::size_t bytes, int p, const NodeCosts& costs);

/// In each step some rank waits for the slow network, and all others for that one.
double ring_on_nodes_s(std::size_t bytes, int p, const NodeCosts& costs);
double hierarchical_s(std::size_t bytes, int p, const NodeCosts& costs);

/// The course's own formulas (exercise cost_model).
template <AllReduceAlgorithm algorithm>
double all_reduce_s(std::size_t bytes, int p, const LinkCost& link) {
    return predicted_s(algorithm, bytes, p, link);
}

double tree_all_reduce_s(std::size_t bytes, int p, const LinkCost& link);

double naive_broadcast_s(std::size_t bytes, int p, const LinkCost& link);
double tree_broadcast_s(std::size_t bytes, int p, const LinkCost& link);
double pipeline_s(std::size_t bytes, int p, const LinkCost& link);

double naive_reduce_s(std::size_t bytes, int p, const LinkCost& link);
double tree_reduce_s(std::size_t bytes, int p, const LinkCost& link);

/// p - 1 messages of a chunk in a row: scatter, gather, the ring's all-gather, and all_to_all by pairs.
double chunks_s(std::size_t bytes, int p, const LinkCost& link);
double ring_reduce_scatter_s(std::size_t bytes, int p, const LinkCost& link);
double naive_all_gather_s(std::size_t bytes, int p, const LinkCost& link);
double naive_reduce_scatter_s(std::size_t bytes, int p, const LinkCost& link);

double naive_barrier_s(std::size_t bytes, int p, const LinkCost& link);
double dissemination_barrier_s(std::size_t bytes, int p, const LinkCost& link);

/// Into how many segments a pipeline cuts so many bytes: long enough that a segment's bytes cost more than its message.
int segments_of(std::size_t bytes);

}  // namespace dist::lab
