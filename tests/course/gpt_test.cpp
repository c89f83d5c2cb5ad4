// The GPT: as large as its formula, and blind for what comes later.
#include "course/nn/gpt.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <stdexcept>

#include <torch/utils.h>

#include "tests/harness/catch2.hpp"

using dist::nn::GptShape;

namespace {

constexpr GptShape kSmall{.layers = 2, .width = 16, .heads = 4, .context = 12, .vocabulary = 20};

at::Tensor tokens(std::int64_t batch, std::int64_t length) {
    return at::randint(kSmall.vocabulary, {batch, length}, at::kLong);
}

}  // namespace

TEST_CASE("a GPT has as many parameters as the formula says", "[nn]") {
    for (const GptShape& shape :
         {GptShape{}, kSmall, GptShape{.layers = 1, .width = 6, .heads = 3, .context = 5}}) {
        std::int64_t count = 0;
        for (const at::Tensor& parameter : dist::nn::make_gpt(shape)->parameters()) {
            count += parameter.numel();
        }
        CHECK(count == dist::nn::count_parameters(shape));
    }
    // GPT-2's smallest, whose head is its embedding: 124,439,808
    const GptShape published{
        .layers = 12, .width = 768, .heads = 12, .context = 1024, .vocabulary = 50257};
    CHECK(dist::nn::count_parameters(published) - 50257L * 768 == 124'439'808);
}

TEST_CASE("what a GPT says at a place depends on the tokens up to it alone", "[nn]") {
    const c10::AutoGradMode no_graph(false);
    torch::manual_seed(1);
    const auto model = dist::nn::make_gpt(kSmall);
    const at::Tensor in = tokens(3, 12);
    const at::Tensor scores = model->forward(in);
    CHECK(scores.sizes() == at::IntArrayRef{3, 12, 20});
    for (const std::int64_t t : {0, 5, 11}) {
        at::Tensor other = in.clone();
        other.select(1, t).add_(1).remainder_(kSmall.vocabulary);
        const at::Tensor changed = model->forward(other);
        INFO("token " << t);
        CHECK(changed.narrow(1, 0, t).equal(scores.narrow(1, 0, t)));
        for (std::int64_t later = t; later < 12; ++later) {
            CHECK_FALSE(changed.select(1, later).equal(scores.select(1, later)));
        }
    }
    const at::Tensor shorter = model->forward(in.narrow(1, 0, 7));
    CHECK(shorter.allclose(scores.narrow(1, 0, 7), 1e-5, 1e-6));
    CHECK_FALSE(model->forward(in.flip(1)).allclose(scores.flip(1), 1e-3, 1e-4)
    );  // it knows the order
}

TEST_CASE("a fresh GPT holds all tokens for about equally likely", "[nn]") {
    const c10::AutoGradMode no_graph(false);
    torch::manual_seed(1);
    const auto model = dist::nn::make_gpt(kSmall);
    const at::Tensor in = tokens(8, 12);
    const at::Tensor logs = model->forward(in).log_softmax(-1);
    const double loss = -logs.gather(2, in.unsqueeze(2)).mean().item<double>();
    CHECK(loss == Approx(std::log(20)).margin(0.1));
}

TEST_CASE("a GPT's parts have its parameters, in its order, and make what it makes", "[nn]") {
    const auto model = dist::nn::make_gpt(kSmall);
    CHECK(model->parts().size() == 4);
    std::vector<at::Tensor> all;
    for (const dist::nn::Part& part : model->parts()) {
        all.insert(all.end(), part.parameters.begin(), part.parameters.end());
    }
    const auto parameters = model->parameters();
    CHECK(std::ranges::equal(all, parameters, [](const auto& a, const auto& b) {
        return a.is_same(b);
    }));
    const at::Tensor loss = model->forward(tokens(2, 12)).square().mean();
    loss.backward();
    for (const at::Tensor& parameter : parameters) {
        CHECK(parameter.grad().defined());
    }
}

TEST_CASE("a GPT that cannot be is refused", "[nn]") {
    GptShape shape = kSmall;
    shape.heads = 5;
    CHECK_THROWS_AS(dist::nn::make_gpt(shape), std::invalid_argument);
    shape = kSmall;
    shape.layers = 0;
    CHECK_THROWS_AS(dist::nn::make_gpt(shape), std::invalid_argument);
}
