#include "course/nn/gpt.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

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

// x + attention(norm(x)), then the same with two layers and a gelu between them.
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
          mlp_in_(register_module("mlp_in", linear(shape.width, 4 * shape.width, kDeviation))),
          mlp_out_(register_module(
              "mlp_out", linear(4 * shape.width, shape.width, last_deviation(shape))
          )) {}

    // (B, T, w) -> (B, T, w)
    at::Tensor forward(const at::Tensor& x) {
        const at::Tensor y = x + attention(attention_norm_(x));
        return y + mlp_out_(at::gelu(mlp_in_(mlp_norm_(y))));
    }

  private:
    static double last_deviation(const GptShape& shape) {
        return kDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
    }

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
    torch::nn::Linear mlp_in_;
    torch::nn::Linear mlp_out_;
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
    return (2 * shape.vocabulary + shape.context) * w + shape.layers * (12 * w * w + 13 * w) +
           2 * w;
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
    return std::make_shared<Gpt>(shape);
}

}  // namespace dist::nn
