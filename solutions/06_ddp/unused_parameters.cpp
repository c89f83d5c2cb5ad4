#include "exercises/06_ddp/unused_parameters.hpp"

#include <set>

#include "course/nn/graph.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
) {
    std::set<nn::GraphNode> seen = {nn::GraphNode(loss)};
    std::vector<nn::GraphNode> to_visit(seen.begin(), seen.end());
    std::set<const void*> reached;
    while (!to_visit.empty()) {  // no recursion: a graph may be deeper than the stack
        const nn::GraphNode node = to_visit.back();
        to_visit.pop_back();
        if (node.leaf().defined()) {
            reached.insert(node.leaf().unsafeGetTensorImpl());
        }
        for (const nn::GraphNode& next : node.next()) {
            if (seen.insert(next).second) {
                to_visit.push_back(next);
            }
        }
    }
    std::vector<std::size_t> unused;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!reached.contains(parameters[i].unsafeGetTensorImpl())) {
            unused.push_back(i);
        }
    }
    return unused;
}

std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
) {
    std::vector<float> used(parameters, 1);
    for (const std::size_t i : unused) {
        expects(i < parameters, "unused_everywhere: there is no parameter of that number");
        used[i] = 0;
    }
    ring_all_reduce(used, ReduceOp::max, comm);
    std::vector<std::size_t> nowhere;
    for (std::size_t i = 0; i < parameters; ++i) {
        if (used[i] == 0) {
            nowhere.push_back(i);
        }
    }
    return nowhere;
}

}  // namespace dist
