// A small GPT: a decoder that says, at every place of a text, which token comes next.
#pragma once

#include <cstdint>
#include <memory>

#include "course/nn/gpt_shape.hpp"
#include "course/nn/model.hpp"

namespace dist::nn {

/// Parameters: V w + C w, then 12 w^2 + 13 w a block, 2 w, and V w of the head. Of E experts a block has
/// 4 w^2 + 8 w + E (8 w^2 + 6 w).
std::int64_t count_parameters(const GptShape& shape);

/// A GPT with fresh weights: normal of deviation 0.02; of what a block adds to its input, smaller by sqrt(2 layers);
/// biases 0. Its parts are the embeddings, each block, and the norm with the head.
///
/// Its forward takes tokens (B, T) int64, T <= context, and returns scores (B, T, V): what it says at place t
/// depends on the tokens 0 to t alone.
///
/// With experts each block has, as Mixtral's do, a router and `count` experts in the place of its
/// two layers: a linear layer without bias, and two layers each. See mixture(). Backward goes
/// through each block's balance loss as well; scores have no part in it. Where an expert is full, a
/// token's scores depend on those before it in the batch.
///
/// Errors  std::invalid_argument if a number is below 1, `heads` does not divide the width, or a
///         token asks more experts than there are.
/// Source  Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3.
std::shared_ptr<Model> make_gpt(const GptShape& shape);

}  // namespace dist::nn
