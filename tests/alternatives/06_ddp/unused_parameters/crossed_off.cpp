// Parameters are crossed off a list when the walk comes to them; of this rank's own list stays what no
// rank uses.
#include <algorithm>
#include <numeric>
#include <queue>
#include <set>

#include "course/nn/graph.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/06_ddp/unused_parameters.hpp"

namespace dist {

std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
) {
    std::vector<std::size_t> unused(parameters.size());
    std::iota(unused.begin(), unused.end(), 0);
    std::set<nn::GraphNode> met;
    std::queue<nn::GraphNode> queue;
    for (queue.push(nn::GraphNode(loss)); !queue.empty(); queue.pop()) {
        const nn::GraphNode node = queue.front();
        if (!met.insert(node).second) {
            continue;  // it was put into the queue more than once
        }
        if (const at::Tensor leaf = node.leaf(); leaf.defined()) {
            std::erase_if(unused, [&](std::size_t i) { return parameters[i].is_same(leaf); });
        }
        for (const nn::GraphNode& next : node.next()) {
            queue.push(next);
        }
    }
    return unused;
}

std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
) {
    std::vector<float> is_unused(parameters, 0);
    std::vector<std::size_t> nowhere(unused.begin(), unused.end());
    for (const std::size_t i : nowhere) {
        expects(i < parameters, "unused_everywhere: no such parameter");
        is_unused[i] = 1;
    }
    ring_all_reduce(is_unused, ReduceOp::min, comm);
    std::erase_if(nowhere, [&](std::size_t i) { return is_unused[i] == 0; });
    return nowhere;
}

}  // namespace dist
