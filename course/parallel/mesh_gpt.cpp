#include "course/parallel/mesh_gpt.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "course/nn/memory.hpp"
#include "course/parallel/mesh_experts.hpp"
#include "course/parallel/mesh_layers.hpp"
#include "course/runtime/error.hpp"
#include "exercises/08_model_parallel/ring_attention.hpp"
#include "exercises/08_model_parallel/sequence_parallel.hpp"
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

torch::nn::LayerNorm mesh_norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

// As the block of nn::make_gpt: x + attention(norm(x)), then the same with an MLP, or with experts.
class MeshBlock : public torch::nn::Module {
  public:
    /// experts  of this block, which do not become part of it; or null.
    MeshBlock(
        const nn::GptShape& shape, const GptPlace& place, std::shared_ptr<const MeshExperts> experts
    )
        : heads_(shape.heads / place.tp.size()),
          place_(place),
          attention_norm_(register_module("attention_norm", mesh_norm(shape.width))),
          queries_keys_values_(register_module(
              "queries_keys_values",
              std::make_shared<MeshColumns>(shape.width, 3 * shape.width, /*bias=*/true, place.tp)
          )),
          attention_out_(register_module(
              "attention_out",
              std::make_shared<MeshRows>(shape.width, shape.width, /*bias=*/true, place.tp)
          )),
          mlp_norm_(register_module("mlp_norm", mesh_norm(shape.width))),
          experts_(std::move(experts)) {
        if (experts_ == nullptr) {
            mlp_.emplace(shape.width, place, *this);
        } else {
            const auto options = torch::nn::LinearOptions(shape.width, shape.experts.count);
            router_ = register_module(
                "router", torch::nn::Linear(torch::nn::LinearOptions(options).bias(false))
            );
        }
    }

    // (B, T / cp, w) -> (B, T / cp, w)
    at::Tensor forward(const at::Tensor& x) {
        const at::Tensor y = x + attention(attention_norm_(x));
        const at::Tensor h = mlp_norm_(y);
        return y + (mlp_ ? mlp_->forward(h) : experts_->forward(h, router_(h)));
    }

  private:
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
    std::optional<MeshMlp> mlp_;
    torch::nn::Linear router_{nullptr};
    std::shared_ptr<const MeshExperts> experts_;
};

/// The experts of a stage's blocks, by the names that they have in the whole model.
class StageExperts : public nn::Model {
  public:
    std::shared_ptr<MeshExperts> add(
        const std::string& block, const nn::GptShape& shape, const GptPlace& place
    ) {
        return register_module(block, std::make_shared<torch::nn::Module>())
            ->register_module("experts", std::make_shared<MeshExperts>(shape, place));
    }
};

class StageModel : public nn::Model {
  public:
    /// experts  of this stage, or null.
    StageModel(const nn::GptShape& shape, const GptPlace& place, StageExperts* experts) {
        if (place.stage == 0) {
            add_embeddings(shape, place);
        }
        const std::int64_t blocks = shape.layers / place.stages;
        for (std::int64_t i = place.stage * blocks; i < (place.stage + 1) * blocks; ++i) {
            const std::string name = "block" + std::to_string(i);
            const auto block = register_module(
                name, std::make_shared<MeshBlock>(
                          shape, place, experts ? experts->add(name, shape, place) : nullptr
                      )
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

GptStage make_gpt_stage(const nn::GptShape& shape, const GptPlace& place) {
    expects(
        shape.heads % place.tp.size() == 0 && shape.vocabulary % place.tp.size() == 0,
        "make_gpt_stage: tp must divide heads and vocabulary"
    );
    expects(shape.layers % place.stages == 0, "make_gpt_stage: stages must divide the layers");
    if (shape.experts.count == 0) {
        return {std::make_shared<StageModel>(shape, place, nullptr), nullptr};
    }
    expects(
        shape.experts.count % place.ep.size() == 0 && !place.sequence_parallel,
        "make_gpt_stage: ep must divide the experts, which have whole tokens"
    );
    const auto experts = std::make_shared<StageExperts>();
    return {std::make_shared<StageModel>(shape, place, experts.get()), experts};
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

bool is_of_expert(const std::string& parameter) {
    return parameter.find(".experts.") != std::string::npos;
}

bool is_on_every_rank(const std::string& parameter) {
    return cut_of(parameter) == nullptr;
}

bool is_used_for_own_tokens(const std::string& parameter) {
    return is_on_every_rank(parameter) && parameter != "places.weight";
}

}  // namespace dist::trainer
