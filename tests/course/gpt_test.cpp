// The GPT: as large as its formula, and blind for what comes later.
#include "course/nn/gpt.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <stdexcept>

#include <torch/utils.h>

#include "course/nn/mixture.hpp"
#include "tests/harness/catch2.hpp"

using dist::nn::GptShape;

namespace {

constexpr GptShape kSmall{.layers = 2, .width = 16, .heads = 4, .context = 12, .vocabulary = 20};

GptShape with_experts(std::int64_t count) {
    GptShape shape = kSmall;
    shape.experts.count = count;
    return shape;
}

at::Tensor tokens(std::int64_t batch, std::int64_t length) {
    return at::randint(kSmall.vocabulary, {batch, length}, at::kLong);
}

}  // namespace

TEST_CASE("a GPT has as many parameters as the formula says", "[nn]") {
    for (const GptShape& shape :
         {GptShape{}, kSmall, GptShape{.layers = 1, .width = 6, .heads = 3, .context = 5},
          with_experts(3)}) {
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

TEST_CASE("each token gets the sum of its experts' results, times their probabilities", "[nn]") {
    using dist::nn::ExpertShape;
    // expert e multiplies by 10^e; token 2 finds expert 1 full, where there is room for two
    const at::Tensor x = at::ones({3, 1});
    const at::Tensor scores =
        at::tensor({1.F, 3.F, 2.F, 0.F, 5.F, 5.F, 2.F, 4.F, 1.F}).view({3, 3});
    const at::Tensor p = scores.softmax(1);
    const auto experts = [](std::int64_t e, const at::Tensor& tokens) {
        return tokens.mul(std::pow(10, e));
    };
    const at::Tensor both = dist::nn::mixture(x, scores, {3, 2, 1.5, 0}, experts);
    const at::Tensor wanted = p.mul(at::tensor({1.F, 10.F, 100.F}));
    CHECK(both[0].item<float>() == Approx((wanted[0][1] + wanted[0][2]).item<float>()));
    CHECK(both[1].item<float>() == Approx((wanted[1][1] + wanted[1][2]).item<float>()));
    CHECK(both[2].item<float>() == Approx((wanted[2][0] + wanted[2][1]).item<float>()));
    const at::Tensor dropped = dist::nn::mixture(x, scores, {3, 2, 1, 0}, experts);
    CHECK(dropped[2].item<float>() == Approx(wanted[2][0].item<float>()));
}

TEST_CASE("backward goes through the balance loss, which is 1 where all are equally busy", "[nn]") {
    const at::Tensor x = at::ones({4, 2});
    const at::Tensor scores = at::eye(4).requires_grad_();
    const auto nothing = [](std::int64_t, const at::Tensor& tokens) { return tokens.mul(0); };
    dist::nn::mixture(x, scores, {4, 1, 1, 7}, nothing).sum().backward();
    const at::Tensor gradient = scores.grad().clone();
    // E sum f P with f = 1/4 each is the sum of all probabilities: no gradient
    CHECK(gradient.abs().max().item<float>() < 1e-6);

    const at::Tensor skewed = at::eye(4).index_select(0, at::tensor({0, 0, 0, 1})).requires_grad_();
    dist::nn::mixture(x, skewed, {4, 1, 4, 7}, nothing).sum().backward();
    const at::Tensor other = skewed.detach().clone().requires_grad_();
    const at::Tensor shares = at::tensor({0.75F, 0.25F, 0.F, 0.F});
    other.softmax(1).mean(0).dot(shares).mul(4 * 7).backward();
    CHECK(skewed.grad().allclose(other.grad(), 1e-5, 1e-6));
    CHECK(skewed.grad().abs().max().item<float>() > 0.1);
}

TEST_CASE("a GPT of experts learns in all of them, also in those that nobody asks", "[nn]") {
    torch::manual_seed(1);
    const auto model = dist::nn::make_gpt(with_experts(30));
    model->forward(tokens(1, 4)).square().mean().backward();
    for (const at::Tensor& parameter : model->parameters()) {
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
    CHECK_THROWS_AS(dist::nn::make_gpt(with_experts(1)), std::invalid_argument);  // asks two
}
