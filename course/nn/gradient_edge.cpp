#include "course/nn/gradient_edge.hpp"

#include <cstddef>
#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

namespace dist::nn {

namespace {

/// Where a backward begins, and with what.
struct Roots {
    Roots(const std::vector<GradientEdge>& outputs, const std::vector<at::Tensor>& all) {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].edge().is_valid() && all[i].defined()) {
                edges.push_back(outputs[i].edge());
                gradients.push_back(all[i]);
            }
        }
    }

    torch::autograd::edge_list edges;
    torch::autograd::variable_list gradients;
};

}  // namespace

GradientEdge::GradientEdge(const at::Tensor& result)
    : GradientEdge(torch::autograd::impl::gradient_edge(result)) {}

GradientEdge::GradientEdge(const torch::autograd::Edge& edge)
    : edge_(std::make_shared<const torch::autograd::Edge>(edge)) {}

std::vector<GradientEdge> GradientEdge::next() const {
    std::vector<GradientEdge> edges;
    if (edge_->is_valid()) {
        for (const torch::autograd::Edge& edge : edge_->function->next_edges()) {
            if (edge.is_valid()) {  // an input without a gradient has none
                edges.push_back(GradientEdge(edge));
            }
        }
    }
    return edges;
}

at::Tensor GradientEdge::leaf() const {
    const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(edge_->function.get());
    return leaf == nullptr ? at::Tensor() : leaf->variable;
}

void GradientEdge::cut(const std::set<GradientEdge>& ways) const {
    if (edge_->is_valid()) {
        for (torch::autograd::Edge& edge : edge_->function->next_edges()) {
            if (edge.is_valid() && ways.contains(GradientEdge(edge))) {
                edge = {};
            }
        }
    }
}

std::strong_ordering GradientEdge::operator<=>(const GradientEdge& other) const {
    return std::pair(edge_->function.get(), edge_->input_nr) <=>
           std::pair(other.edge_->function.get(), other.edge_->input_nr);
}

bool GradientEdge::operator==(const GradientEdge& other) const {
    return (*this <=> other) == std::strong_ordering::equal;
}

std::set<GradientEdge> all_behind(const GradientEdge& begin) {
    std::vector<GradientEdge> ahead = {begin};
    std::set<GradientEdge> found;
    while (!ahead.empty()) {
        const GradientEdge edge = ahead.back();
        ahead.pop_back();
        if (found.insert(edge).second) {
            const std::vector<GradientEdge> next = edge.next();
            ahead.insert(ahead.end(), next.begin(), next.end());
        }
    }
    return found;
}

std::vector<at::Tensor> grad(
    const std::vector<GradientEdge>& outputs,
    const std::vector<at::Tensor>& gradients,
    const std::vector<GradientEdge>& inputs
) {
    const Roots roots(outputs, gradients);
    torch::autograd::edge_list ends;
    for (const GradientEdge& input : inputs) {
        ends.push_back(input.edge());
    }
    if (roots.edges.empty() || ends.empty()) {
        return std::vector<at::Tensor>(inputs.size());
    }
    return torch::autograd::Engine::get_default_engine().execute(
        roots.edges, roots.gradients, /*keep_graph=*/true, /*create_graph=*/false,
        /*accumulate_grad=*/false, ends
    );
}

void backward(const std::vector<GradientEdge>& outputs, const std::vector<at::Tensor>& gradients) {
    const Roots roots(outputs, gradients);
    if (!roots.edges.empty()) {
        torch::autograd::Engine::get_default_engine().execute(
            roots.edges, roots.gradients, /*keep_graph=*/false, /*create_graph=*/false,
            /*accumulate_grad=*/true
        );
    }
}

}  // namespace dist::nn
