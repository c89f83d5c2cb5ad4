// Four halves of rings, as BlueConnect has them: the mean is divided where all of the sum is, in
// the middle.
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

namespace dist {
namespace {

std::span<float> chunk_of(std::span<float> data, const Communicator& comm) {
    const Chunk chunk = chunk_bounds(data.size(), comm.size(), comm.rank());
    return data.subspan(chunk.begin, chunk.size());
}

}  // namespace

Nodes make_nodes(int per_node, const Communicator& comm) {
    if (per_node < 1 || comm.size() % per_node != 0) {
        throw std::invalid_argument("make_nodes: nodes of equally many ranks, please");
    }
    const int node = comm.rank() / per_node;
    return {comm.split(node, comm.rank()), comm.split(comm.rank() - node * per_node, node)};
}

void hierarchical_all_reduce(std::span<float> data, ReduceOp op, const Nodes& nodes) {
    const ReduceOp adding = op == ReduceOp::mean ? ReduceOp::sum : op;
    const auto mine = chunk_of(data, nodes.node);
    const auto finished = chunk_of(mine, nodes.across);
    ring_reduce_scatter(data, adding, nodes.node);
    ring_reduce_scatter(mine, adding, nodes.across);
    if (op == ReduceOp::mean) {
        const auto p = static_cast<float>(nodes.node.size() * nodes.across.size());
        for (float& x : finished) {
            x /= p;
        }
    }
    ring_all_gather(mine, nodes.across);
    ring_all_gather(data, nodes.node);
}

}  // namespace dist
