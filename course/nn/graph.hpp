// The graph that autograd records in the forward pass, to be walked.
#pragma once

#include <ATen/core/Tensor.h>
#include <compare>
#include <memory>
#include <utility>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace dist::nn {

/// A node of the graph: an operation of the forward pass, through which backward passes its gradients
/// on; or, at the end of every way, what adds to the gradient of a leaf. Ordered by identity, so that a
/// std::set can hold nodes.
class GraphNode {
  public:
    /// Where backward() from `result` begins: the operation that made it. None of its ways leads
    /// anywhere if no gradient is recorded for it.
    explicit GraphNode(const at::Tensor& result);

    /// The nodes that backward comes to from here; a graph joins again, so that one node may be the
    /// next of many.
    [[nodiscard]] std::vector<GraphNode> next() const;

    /// The leaf whose gradient is added to here; undefined in all other nodes. Which parameter that is:
    /// parameter.is_same(node.leaf()).
    [[nodiscard]] at::Tensor leaf() const;

    auto operator<=>(const GraphNode& other) const = default;

  private:
    explicit GraphNode(std::shared_ptr<torch::autograd::Node> node) : node_(std::move(node)) {}

    std::shared_ptr<torch::autograd::Node> node_;
};

}  // namespace dist::nn
