#include "course/nn/gpt.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "course/nn/mixture.hpp"

namespace dist::nn {

namespace {

constexpr double kDeviation = 0.02;

torch::nn::Linear linear(std::int64_t in, std::int64_t out, double deviation, bool bias = true) {
    torch::nn::Linear layer(torch::nn::LinearOptions(in, out).bias(bias));
    torch::nn::init::normal_(layer->weight, 0, deviation);
    if (bias) {
        torch::nn::init::zeros_(layer->bias);
    }
    return layer;
}

torch::nn::LayerNorm norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

/// Of layers whose output is added to the block's input.
double last_deviation(const GptShape& shape) {
    return kDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
}

/// (..., w) -> (..., w)
using Layers = std::function<at::Tensor(const at::Tensor& x)>;

/// Two layers with a gelu between them, which become the owner's.
Layers make_mlp(const GptShape& shape, torch::nn::Module& owner) {
    const auto in =
        owner.register_module("mlp_in", linear(shape.width, 4 * shape.width, kDeviation));
    const auto out = owner.register_module(
        "mlp_out", linear(4 * shape.width, shape.width, last_deviation(shape))
    );
    return [in, out](const at::Tensor& x) { return out->forward(at::gelu(in->forward(x))); };
}

/// A router and its experts, each of them such an MLP.
Layers make_experts(const GptShape& shape, torch::nn::Module& owner) {
    const auto router = owner.register_module(
        "router", linear(shape.width, shape.experts.count, kDeviation, /*bias=*/false)
    );
    const auto modules = owner.register_module("experts", std::make_shared<torch::nn::Module>());
    std::vector<Layers> experts;
    for (std::int64_t e = 0; e < shape.experts.count; ++e) {
        const auto expert = std::make_shared<torch::nn::Module>();
        experts.push_back(make_mlp(shape, *expert));
        modules->register_module(std::to_string(e), expert);
    }
    return [shape, router, experts](const at::Tensor& x) {
        const at::Tensor tokens = x.flatten(0, -2);
        const auto call = [&](std::int64_t e, const at::Tensor& own) {
            return experts[static_cast<std::size_t>(e)](own);
        };
        return mixture(tokens, router->forward(tokens), shape.experts, call).view(x.sizes());
    };
}

// x + attention(norm(x)), then the same with two layers and a gelu between them, or with experts.
class Block : public torch::nn::Module {
  public:
    explicit Block(const GptShape& shape)
        : heads_(shape.heads),
          attention_norm_(register_module("attention_norm", norm(shape.width))),
          queries_keys_values_(register_module(
              "queries_keys_values", linear(shape.width, 3 * shape.width, kDeviation)
          )),
          attention_out_(register_module(
              "attention_out", linear(shape.width, shape.width, last_deviation(shape))
          )),
          mlp_norm_(register_module("mlp_norm", norm(shape.width))),
          mlp_(shape.experts.count == 0 ? make_mlp(shape, *this) : make_experts(shape, *this)) {}

    // (B, T, w) -> (B, T, w)
    at::Tensor forward(const at::Tensor& x) {
        const at::Tensor y = x + attention(attention_norm_(x));
        return y + mlp_(mlp_norm_(y));
    }

  private:
    at::Tensor attention(const at::Tensor& x) {
        const std::int64_t batch = x.size(0);
        const std::int64_t length = x.size(1);
        const std::int64_t width = x.size(2);
        const at::Tensor parts = queries_keys_values_(x)
                                     .view({batch, length, 3, heads_, width / heads_})
                                     .permute({2, 0, 3, 1, 4});  // (3, B, heads, T, w / heads)
        const double scale = 1 / std::sqrt(static_cast<double>(width / heads_));
        const at::Tensor scores = parts[0].matmul(parts[1].transpose(-2, -1)) * scale;
        const at::Tensor later =
            at::ones({length, length}, scores.options().dtype(at::kBool)).triu(1);
        const at::Tensor weights =
            scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
        const at::Tensor seen = weights.matmul(parts[2]);  // (B, heads, T, w / heads)
        return attention_out_(seen.transpose(1, 2).reshape({batch, length, width}));
    }

    std::int64_t heads_;
    torch::nn::LayerNorm attention_norm_;
    torch::nn::Linear queries_keys_values_;
    torch::nn::Linear attention_out_;
    torch::nn::LayerNorm mlp_norm_;
    Layers mlp_;
};

class Gpt : public Model {
  public:
    explicit Gpt(const GptShape& shape)
        : tokens_(register_module("tokens", torch::nn::Embedding(shape.vocabulary, shape.width))),
          places_(register_module("places", torch::nn::Embedding(shape.context, shape.width))) {
        torch::nn::init::normal_(tokens_->weight, 0, kDeviation);
        torch::nn::init::normal_(places_->weight, 0, kDeviation);
        add_part({tokens_.ptr(), places_.ptr()}, [this](const at::Tensor& tokens) {
            return tokens_(tokens) + places_(at::arange(tokens.size(1), tokens.options()));
        });
        for (std::int64_t i = 0; i < shape.layers; ++i) {
            const auto block =
                register_module("block" + std::to_string(i), std::make_shared<Block>(shape));
            add_part({block}, [block](const at::Tensor& x) { return block->forward(x); });
        }
        norm_ = register_module("norm", norm(shape.width));
        head_ = register_module(
            "head", linear(shape.width, shape.vocabulary, kDeviation, /*bias=*/false)
        );
        add_part({norm_.ptr(), head_.ptr()}, [this](const at::Tensor& x) {
            return head_(norm_(x));
        });
    }

  private:
    torch::nn::Embedding tokens_;
    torch::nn::Embedding places_;
    torch::nn::LayerNorm norm_{nullptr};
    torch::nn::Linear head_{nullptr};
};

}  // namespace

std::int64_t count_parameters(const GptShape& shape) {
    const std::int64_t w = shape.width;
    const std::int64_t experts = shape.experts.count;
    const std::int64_t mlps = experts == 0 ? 1 : experts;
    const std::int64_t block = 4 * w * w + 8 * w + mlps * (8 * w * w + 5 * w) + experts * w;
    return (2 * shape.vocabulary + shape.context) * w + shape.layers * block + 2 * w;
}

std::shared_ptr<Model> make_gpt(const GptShape& shape) {
    for (const std::int64_t number :
         {shape.layers, shape.width, shape.heads, shape.context, shape.vocabulary}) {
        if (number < 1) {
            throw std::invalid_argument("make_gpt: a number below 1");
        }
    }
    if (shape.width % shape.heads != 0) {
        throw std::invalid_argument(
            "make_gpt: " + std::to_string(shape.heads) + " heads do not divide a width of " +
            std::to_string(shape.width)
        );
    }
    const auto& [experts, choices, capacity_factor, balance] = shape.experts;
    if (experts != 0 && (choices < 1 || choices > experts)) {
        throw std::invalid_argument(
            "make_gpt: a token cannot ask " + std::to_string(choices) + " of " +
            std::to_string(experts) + " experts"
        );
    }
    return std::make_shared<Gpt>(shape);
}

}  // namespace dist::nn
