// The graph in levels, asked for the node of each parameter; and ranks add up who does not use it.
#include <set>

#include "course/nn/graph.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/06_ddp/unused_parameters.hpp"

namespace dist {

std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
) {
    std::set<nn::GraphNode> level = {nn::GraphNode(loss)};
    std::set<nn::GraphNode> seen;
    while (!level.empty()) {
        std::set<nn::GraphNode> deeper;
        for (const nn::GraphNode& node : level) {
            if (seen.insert(node).second) {
                for (const nn::GraphNode& next : node.next()) {
                    deeper.insert(next);
                }
            }
        }
        level = std::move(deeper);
    }
    std::vector<std::size_t> unused;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!seen.contains(nn::GraphNode(parameters[i]))) {
            unused.push_back(i);
        }
    }
    return unused;
}

std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
) {
    std::vector<float> ranks(parameters);
    for (const std::size_t i : unused) {
        if (i >= parameters) {
            throw std::invalid_argument("unused_everywhere: no such parameter");
        }
        ranks[i] += 1;
    }
    ring_all_reduce(ranks, ReduceOp::sum, comm);
    std::vector<std::size_t> nowhere;
    for (std::size_t i = 0; i < parameters; ++i) {
        if (ranks[i] == static_cast<float>(comm.size())) {
            nowhere.push_back(i);
        }
    }
    return nowhere;
}

}  // namespace dist
