#include "course/parallel/mesh_gpt.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/tensor.h>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include "course/nn/memory.hpp"
#include "course/runtime/error.hpp"
#include "exercises/08_model_parallel/ring_attention.hpp"
#include "exercises/08_model_parallel/sequence_parallel.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "exercises/08_model_parallel/vocab_parallel.hpp"

namespace dist::trainer {

namespace {

/// How tp ranks share a parameter: each has as much of dimension `dim`.
struct Cut {
    const char* parameter;
    std::int64_t dim;
    std::int64_t pieces = 1;  ///< tensors side by side in that dimension, each of which is shared
};

constexpr std::array<Cut, 8> kCuts = {{
    {"tokens.weight", 0},
    {"queries_keys_values.weight", 0, 3},
    {"queries_keys_values.bias", 0, 3},
    {"attention_out.weight", 1},
    {"mlp_in.weight", 0},
    {"mlp_in.bias", 0},
    {"mlp_out.weight", 1},
    {"head.weight", 0},
}};

const Cut* cut_of(std::string_view parameter) {
    for (const Cut& cut : kCuts) {
        if (parameter.ends_with(cut.parameter)) {
            return &cut;
        }
    }
    return nullptr;
}

/// A view of this rank's part; of a dimension of several pieces, in two dimensions.
at::Tensor part_in(const at::Tensor& whole, const std::string& parameter, const Communicator& tp) {
    const Cut* const cut = cut_of(parameter);
    if (cut == nullptr) {
        return whole;
    }
    const std::int64_t length = whole.size(cut->dim) / (cut->pieces * tp.size());
    return whole.unflatten(cut->dim, {cut->pieces, tp.size(), length})
        .select(cut->dim + 1, tp.rank());
}

/// A layer of exercise tensor_parallel with parameters that have names. The layer cuts what it is
/// given: here shapes alone. The numbers come afterwards.
template <class Linear>
class MeshLinear : public torch::nn::Module {
  public:
    MeshLinear(std::int64_t in, std::int64_t out, bool bias, const Communicator& tp)
        : linear(at::empty({out, in}), bias ? at::empty({out}) : at::Tensor(), tp) {
        register_parameter("weight", linear.weight);
        if (bias) {
            register_parameter("bias", linear.bias);
        }
    }

    at::Tensor forward(const at::Tensor& x, const GptPlace& place) const {
        return place.sequence_parallel ? sequence_parallel(x, place.tp) : linear.forward(x);
    }

    Linear linear;

  private:
    at::Tensor sequence_parallel(const at::Tensor& x, const Communicator& tp) const {
        if constexpr (std::is_same_v<Linear, ColumnParallelLinear>) {
            return sequence_parallel_column_linear(x, linear.weight, linear.bias, tp);
        } else {
            return sequence_parallel_row_linear(x, linear.weight, linear.bias, tp);
        }
    }
};

using MeshColumns = MeshLinear<ColumnParallelLinear>;
using MeshRows = MeshLinear<RowParallelLinear>;

torch::nn::LayerNorm mesh_norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

// As the block of nn::make_gpt: x + attention(norm(x)), then the same with two layers and a gelu.
class MeshBlock : public torch::nn::Module {
  public:
    MeshBlock(const nn::GptShape& shape, const GptPlace& place)
        : heads_(shape.heads / place.tp.size()),
          place_(place),
          attention_norm_(register_module("attention_norm", mesh_norm(shape.width))),
          queries_keys_values_(columns("queries_keys_values", shape.width, 3, place)),
          attention_out_(rows("attention_out", shape.width, 1, place)),
          mlp_norm_(register_module("mlp_norm", mesh_norm(shape.width))),
          mlp_in_(columns("mlp_in", shape.width, 4, place)),
          mlp_out_(rows("mlp_out", shape.width, 4, place)) {}

    // (B, T / cp, w) -> (B, T / cp, w)
    at::Tensor forward(const at::Tensor& x) {
        const at::Tensor y = x + attention(attention_norm_(x));
        return y + mlp_out_->forward(at::gelu(mlp_in_->forward(mlp_norm_(y), place_)), place_);
    }

  private:
    std::shared_ptr<MeshColumns> columns(
        const char* name, std::int64_t width, std::int64_t times, const GptPlace& place
    ) {
        return register_module(
            name, std::make_shared<MeshColumns>(width, times * width, /*bias=*/true, place.tp)
        );
    }

    std::shared_ptr<MeshRows> rows(
        const char* name, std::int64_t width, std::int64_t times, const GptPlace& place
    ) {
        return register_module(
            name, std::make_shared<MeshRows>(times * width, width, /*bias=*/true, place.tp)
        );
    }

    // of this rank's heads, over all tokens
    at::Tensor attention(const at::Tensor& x) {
        const at::Tensor own = queries_keys_values_->forward(x, place_);
        const at::Tensor parts = own.view({own.size(0), own.size(1), 3, heads_, -1})
                                     .permute({2, 0, 3, 1, 4});  // (3, B, heads, T / cp, d)
        const RingAttentionOptions options{
            .causal = true, .balanced = place_.cp.size() > 1, .scale = {}};
        const at::Tensor seen = ring_attention(parts[0], parts[1], parts[2], options, place_.cp);
        return attention_out_->forward(seen.transpose(1, 2).flatten(2), place_);
    }

    std::int64_t heads_;
    GptPlace place_;
    torch::nn::LayerNorm attention_norm_;
    std::shared_ptr<MeshColumns> queries_keys_values_;
    std::shared_ptr<MeshRows> attention_out_;
    torch::nn::LayerNorm mlp_norm_;
    std::shared_ptr<MeshColumns> mlp_in_;
    std::shared_ptr<MeshRows> mlp_out_;
};

class GptStage : public nn::Model {
  public:
    GptStage(const nn::GptShape& shape, const GptPlace& place) {
        if (place.stage == 0) {
            add_embeddings(shape, place);
        }
        const std::int64_t blocks = shape.layers / place.stages;
        for (std::int64_t i = place.stage * blocks; i < (place.stage + 1) * blocks; ++i) {
            const auto block = register_module(
                "block" + std::to_string(i), std::make_shared<MeshBlock>(shape, place)
            );
            add_part({block}, [block](const at::Tensor& x) { return block->forward(x); });
        }
        if (place.stage + 1 == place.stages) {
            const auto norm = register_module("norm", mesh_norm(shape.width));
            const auto head = register_module(
                "head", std::make_shared<MeshColumns>(
                            shape.width, shape.vocabulary, /*bias=*/false, place.tp
                        )
            );
            add_part({norm, head}, [norm, head, place](const at::Tensor& x) {
                return head->forward(norm->forward(x), place);
            });
        }
    }

  private:
    void add_embeddings(const nn::GptShape& shape, const GptPlace& place) {
        const auto tokens = register_module(
            "tokens", torch::nn::Embedding(shape.vocabulary / place.tp.size(), shape.width)
        );
        const auto places =
            register_module("places", torch::nn::Embedding(shape.context, shape.width));
        add_part(
            {tokens, places},
            [tokens, places, place, own = gpt_tokens(shape, place.cp)](const at::Tensor& ids) {
                const at::Tensor x = vocab_parallel_embedding(ids, tokens->weight, place.tp) +
                                     at::embedding(places->weight, own);
                return place.sequence_parallel ? scatter_to_sequence_parallel_region(x, place.tp)
                                               : x;
            }
        );
    }
};

}  // namespace

std::shared_ptr<nn::Model> make_gpt_stage(const nn::GptShape& shape, const GptPlace& place) {
    expects(
        shape.heads % place.tp.size() == 0 && shape.vocabulary % place.tp.size() == 0,
        "make_gpt_stage: tp must divide heads and vocabulary"
    );
    expects(shape.layers % place.stages == 0, "make_gpt_stage: stages must divide the layers");
    return std::make_shared<GptStage>(shape, place);
}

at::Tensor gpt_tokens(const nn::GptShape& shape, const Communicator& cp) {
    const nn::MemoryScope scope(nn::MemoryKind::other);  // no parameter, for bench mesh
    return at::tensor(
        ring_attention_tokens(shape.context, cp.size(), cp.rank(), /*balanced=*/cp.size() > 1)
    );
}

at::Tensor gpt_part(const std::string& parameter, const at::Tensor& whole, const Communicator& tp) {
    const at::Tensor part = part_in(whole, parameter, tp);
    const Cut* const cut = cut_of(parameter);
    return (cut == nullptr ? part : part.flatten(cut->dim, cut->dim + 1))
        .clone(at::MemoryFormat::Contiguous);
}

void put_gpt_part(
    const std::string& parameter,
    const at::Tensor& part,
    const at::Tensor& whole,
    const Communicator& tp
) {
    const at::Tensor place = part_in(whole, parameter, tp);
    place.copy_(part.reshape(place.sizes()));
}

bool is_on_every_rank(const std::string& parameter) {
    return cut_of(parameter) == nullptr;
}

bool is_used_for_own_tokens(const std::string& parameter) {
    return is_on_every_rank(parameter) && parameter != "places.weight";
}

}  // namespace dist::trainer
