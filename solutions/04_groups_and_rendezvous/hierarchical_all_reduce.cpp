#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

Nodes make_nodes(int per_node, const Communicator& comm) {
    expects(per_node >= 1, "make_nodes: a node has at least one rank");
    expects(comm.size() % per_node == 0, "make_nodes: per_node must divide the number of ranks");
    return {comm.split(comm.rank() / per_node), comm.split(comm.rank() % per_node)};
}

void hierarchical_all_reduce(std::span<float> data, ReduceOp op, const Nodes& nodes) {
    const Chunk bounds = chunk_bounds(data.size(), nodes.node.size(), nodes.node.rank());
    const auto mine = data.subspan(bounds.begin, bounds.size());
    const ReduceOp adding = op == ReduceOp::mean ? ReduceOp::sum : op;  // each ring would divide

    ring_reduce_scatter(data, adding, nodes.node);  // mine is the node's
    ring_all_reduce(mine, adding, nodes.across);    // mine is that of all nodes
    if (op == ReduceOp::mean) {
        scale(mine, 1.0F / static_cast<float>(nodes.node.size() * nodes.across.size()));
    }
    ring_all_gather(data, nodes.node);
}

}  // namespace dist
