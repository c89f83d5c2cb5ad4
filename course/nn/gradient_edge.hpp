// Backward through a part of the graph: from some places of it to some others.
#pragma once

#include <ATen/core/Tensor.h>
#include <compare>
#include <memory>
#include <set>
#include <vector>

namespace torch::autograd {
struct Edge;
}

namespace dist::nn {

/// A place of the graph at which a gradient arrives: that of one result of an operation, or of a
/// leaf. It holds the operation, what that has kept for backward, and all that backward comes to
/// from there; but not the result. PyTorch's torch.autograd.graph.GradientEdge.
///
/// Ordered by identity, so that a std::set can hold edges.
class GradientEdge {
  public:
    /// Where backward() from `result` begins. Of a leaf, where its gradient is added. It leads
    /// nowhere where no gradient is recorded for `result`.
    explicit GradientEdge(const at::Tensor& result);

    /// The edges that backward comes to from here: one for each input that has a gradient.
    [[nodiscard]] std::vector<GradientEdge> next() const;

    /// The leaf whose gradient is added to here; undefined in all other places. Which parameter that
    /// is: parameter.is_same(edge.leaf()).
    [[nodiscard]] at::Tensor leaf() const;

    /// Takes the ways to these edges away, for good: no backward goes them any more, or computes
    /// anything for them, and what only they led to is no longer held.
    void cut(const std::set<GradientEdge>& ways) const;

    /// LibTorch's own.
    [[nodiscard]] const torch::autograd::Edge& edge() const { return *edge_; }

    std::strong_ordering operator<=>(const GradientEdge& other) const;
    bool operator==(const GradientEdge& other) const;

  private:
    explicit GradientEdge(const torch::autograd::Edge& edge);

    std::shared_ptr<const torch::autograd::Edge> edge_;
};

/// All edges that backward comes to from here, and this one.
std::set<GradientEdge> all_behind(const GradientEdge& begin);

/// The gradients that arrive at `inputs`, which lead somewhere, when backward begins at `outputs`
/// with `gradients`; undefined where none arrives. Computes only what leads there, and adds to no
/// leaf. The graph is retained.
std::vector<at::Tensor> grad(
    const std::vector<GradientEdge>& outputs,
    const std::vector<at::Tensor>& gradients,
    const std::vector<GradientEdge>& inputs
);

/// Backward from `outputs`, which begins with `gradients`, to all leaves. Where a gradient is
/// undefined, it does not begin. What operations have kept for backward is given back.
void backward(const std::vector<GradientEdge>& outputs, const std::vector<at::Tensor>& gradients);

}  // namespace dist::nn
