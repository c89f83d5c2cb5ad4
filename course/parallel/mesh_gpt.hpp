// A GPT cut across the ranks of a mesh: what one rank has of it.
#pragma once

#include <ATen/core/Tensor.h>
#include <memory>
#include <string>

#include "course/nn/gpt_shape.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Where a rank computes. The groups outlive the model.
struct GptPlace {
    const Communicator& tp;    ///< ranks that share each layer
    const Communicator& cp;    ///< ranks that share the tokens of each example
    const Communicator& ep;    ///< ranks that share the experts of each block
    const Communicator& data;  ///< ranks that have all tokens between them: cp, ep and dp
    int stage = 0;             ///< which blocks, in a pipeline of so many stages
    int stages = 1;
    int micro_batches = 1;           ///< whose losses' mean is that of a step
    bool sequence_parallel = false;  ///< between cut layers, ranks of tp share the tokens as well
};

/// What a rank has of one stage. All but the experts is alike on ranks of dp, cp and ep; experts are
/// alike on those of dp and cp.
struct GptStage {
    std::shared_ptr<nn::Model> model;
    std::shared_ptr<nn::Model> experts;  ///< parameters alone, which model uses; or null
};

/// Makes one stage of nn::make_gpt(shape), with anything in its parameters. They have the names that
/// they have there, and of each of them this rank's part; of E experts those of numbers r E / ep to
/// (r + 1) E / ep - 1. The embeddings are in the first stage, the norm and the head in the last one.
///
/// The first stage's forward takes tokens (B, T / cp) int64, all others what the stage before them
/// returned: (B, T / cp, w). The last one returns scores of this rank's words, (B, T / cp, V / tp).
/// With sequence_parallel each stage hands on a tp-th of the tokens. T is shape.context; which
/// tokens a rank has, gpt_tokens() says.
///
/// Cost    for each block, in forward and in backward: two all-reduces over tp, or with
///         sequence_parallel reduce-scatters and all-gathers; the messages of ring_attention over cp.
///         With experts, one all-reduce for each of them in the place of the second; the messages of
///         expert_parallel over ep, and in training one of balance_loss over data.
/// Errors  std::invalid_argument if tp does not divide heads and vocabulary, stages the layers, ep
///         the experts, or 2 cp the context, where cp > 1; or if there are experts and
///         sequence_parallel.
GptStage make_gpt_stage(const nn::GptShape& shape, const GptPlace& place);

/// The tokens of an example that this rank has: (T / cp) int64. Labels follow them.
at::Tensor gpt_tokens(const nn::GptShape& shape, const Communicator& cp);

/// This rank's part of one of nn::make_gpt's parameters, or of what an optimizer keeps of it: a copy.
/// Where every rank of tp has the whole of a parameter, the part is the whole.
at::Tensor gpt_part(const std::string& parameter, const at::Tensor& whole, const Communicator& tp);

/// Writes a part to its place in the whole.
void put_gpt_part(
    const std::string& parameter,
    const at::Tensor& part,
    const at::Tensor& whole,
    const Communicator& tp
);

/// Whether it is an expert's: ranks of ep have different ones.
bool is_of_expert(const std::string& parameter);

/// Whether every rank of tp has the whole of it: its gradient is the same on all, and counts once.
bool is_on_every_rank(const std::string& parameter);

/// With sequence_parallel: whether a rank's gradient is that of its own tokens, to be added up over tp.
bool is_used_for_own_tokens(const std::string& parameter);

}  // namespace dist::trainer
