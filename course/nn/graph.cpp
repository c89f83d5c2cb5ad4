#include "course/nn/graph.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

namespace dist::nn {

namespace {

/// LibTorch's pointer, shared or in newer versions intrusive, as a shared one. Nobody else may hold it:
/// of a leaf that is in no graph, the node is made when it is asked for.
template <class Pointer>
std::shared_ptr<torch::autograd::Node> shared(const Pointer& node) {
    return {node.get(), [node](torch::autograd::Node*) {}};
}

}  // namespace

GraphNode::GraphNode(const at::Tensor& result)
    // of a leaf, the node that adds to its gradient
    : node_(shared(torch::autograd::impl::gradient_edge(result).function)) {}

std::vector<GraphNode> GraphNode::next() const {
    std::vector<GraphNode> nodes;
    if (node_ != nullptr) {
        for (const torch::autograd::Edge& edge : node_->next_edges()) {
            if (edge.is_valid()) {  // an input without a gradient has no node
                nodes.push_back(GraphNode(shared(edge.function)));
            }
        }
    }
    return nodes;
}

at::Tensor GraphNode::leaf() const {
    const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node_.get());
    return leaf == nullptr ? at::Tensor() : leaf->variable;
}

}  // namespace dist::nn
