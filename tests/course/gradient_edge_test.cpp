// Backward through a part of the graph.
#include "course/nn/gradient_edge.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <memory>
#include <vector>

#include "course/nn/with_backward.hpp"
#include "tests/harness/catch2.hpp"

namespace {

using dist::nn::GradientEdge;

/// y = 3 x w, with what lies between.
struct Graph {
    at::Tensor x = at::full({2}, 5.0).requires_grad_();
    at::Tensor w = at::full({2}, 7.0).requires_grad_();
    at::Tensor h = x.mul(w);
    at::Tensor y = h.mul(3);
};

bool leads_to(const at::Tensor& from, const std::vector<at::Tensor>& behind) {
    std::vector<GradientEdge> edges;
    for (const at::Tensor& one : behind) {
        edges.emplace_back(one);
    }
    return GradientEdge(from).next() == edges;
}

double first(const at::Tensor& tensor) {
    return tensor[0].item<double>();
}

TEST_CASE("an edge leads to those behind it, and holds no result", "[nn]") {
    Graph graph;
    const GradientEdge end(graph.y);
    CHECK((end == GradientEdge(graph.y)));
    CHECK_FALSE((end == GradientEdge(graph.h)));
    CHECK(leads_to(graph.y, {graph.h}));
    CHECK(leads_to(graph.h, {graph.x, graph.w}));
    CHECK(leads_to(graph.x, {}));
    CHECK(leads_to(at::ones({2}), {}));
    CHECK(leads_to(graph.x.detach().mul(graph.w), {graph.w}));
    const c10::weak_intrusive_ptr<at::TensorImpl> result(graph.y.getIntrusivePtr());
    graph.y.reset();
    CHECK(result.expired());
    CHECK(first(dist::nn::grad({end}, {at::ones({2})}, {GradientEdge(graph.x)})[0]) == 21);
}

TEST_CASE("all edges behind a place, and the leaves among them", "[nn]") {
    const Graph graph;
    const at::Tensor twice = graph.y.mul(graph.h);
    const auto behind = dist::nn::all_behind(GradientEdge(twice));
    CHECK(behind.size() == 5);
    int leaves = 0;
    for (const GradientEdge& edge : behind) {
        leaves += edge.leaf().defined() ? 1 : 0;
        CHECK((edge.leaf().is_same(graph.x) == (edge == GradientEdge(graph.x))));
    }
    CHECK(leaves == 2);
    CHECK(dist::nn::all_behind(GradientEdge(at::ones({2}))).size() == 1);
}

TEST_CASE(
    "grad gives what arrives at edges, as often as it is asked, and adds to no leaf", "[nn]"
) {
    const Graph graph;
    const at::Tensor other = at::ones({2}).requires_grad_();
    for (int time = 0; time < 2; ++time) {
        const std::vector<at::Tensor> found = dist::nn::grad(
            {GradientEdge(graph.y), GradientEdge(graph.h)}, {at::full({2}, 2.0), at::ones({2})},
            {GradientEdge(graph.x), GradientEdge(graph.h), GradientEdge(other)}
        );
        CHECK(first(found[0]) == 7 * 7);
        CHECK(first(found[1]) == 7);
        CHECK_FALSE(found[2].defined());
    }
    CHECK_FALSE(graph.x.grad().defined());
    CHECK_FALSE(graph.w.grad().defined());
}

TEST_CASE("backward adds to leaves, begins where there is a gradient, and gives back", "[nn]") {
    const Graph graph;
    const std::vector<GradientEdge> from = {GradientEdge(graph.y), GradientEdge(graph.h)};
    dist::nn::backward(from, {at::Tensor(), at::Tensor()});
    CHECK_FALSE(graph.x.grad().defined());
    dist::nn::backward(from, {at::Tensor(), at::ones({2})});
    CHECK(first(graph.x.grad()) == 7);
    CHECK(first(graph.w.grad()) == 5);
    CHECK_THROWS_AS(dist::nn::backward(from, {at::ones({2}), at::Tensor()}), c10::Error);
}

TEST_CASE("a way that is cut is gone, with what only it led to", "[nn]") {
    const at::Tensor x = at::ones({2}).requires_grad_();
    const at::Tensor w = at::ones({2}).requires_grad_();
    auto held = std::make_shared<int>();
    const std::weak_ptr<int> kept = held;
    at::Tensor h = dist::nn::with_backward(
        x.detach().mul(2), {x},
        [held](const at::Tensor& gradient, const auto&) { return std::vector{gradient}; }
    );
    held.reset();
    const at::Tensor y = h.add(w);  // which keeps neither
    GradientEdge(y).cut({GradientEdge(h)});
    h.reset();
    CHECK(kept.expired());
    dist::nn::backward({GradientEdge(y)}, {at::ones({2})});
    CHECK_FALSE(x.grad().defined());
    CHECK(first(w.grad()) == 1);
}

}  // namespace
