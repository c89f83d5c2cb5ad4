// Exercise 08: the two ends of a language model, whose vocabulary is cut across ranks. Nobody sees all words at once.
#pragma once

#include <ATen/core/Tensor.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// The rows of an embedding table that belong to these words, where each of t ranks has V/t of its V rows.
///
/// ids      (...) int64: words, each in [0, V), the same on every rank.
/// shard    (V/t, h) float32: rows [r V/t, (r+1) V/t) of the table, on rank r. The same shape on every rank.
/// comm     t ranks. Outlives what is returned.
/// Returns  (..., h), the same on every rank. Backward brings shard its rows of the table's gradient, and sends
///          nothing.
///
/// Cost     one ring all-reduce of as many floats as are returned.
/// Errors   std::invalid_argument, before any message, for a word outside of the vocabulary; dist::Error if a
///          message fails. std::logic_error out of backward if it is to be differentiated again (create_graph).
/// Source   Shoeybi et al. (2019), "Megatron-LM: Training multi-billion parameter language models using model
///          parallelism", section 3.
at::Tensor vocab_parallel_embedding(
    const at::Tensor& ids, const at::Tensor& shard, const Communicator& comm
);

/// The cross entropy of each token, -log softmax(logits)[target], where each of t ranks has the logits of V/t words.
///
/// Logits may be as far from 0 as floats allow, and -infinity for words that cannot come.
///
/// logits   (..., V/t) float32, in any layout: those of words [r V/t, (r+1) V/t), on rank r. Stay as they are.
/// targets  (...) int64: the words that come, each in [0, V), the same on every rank.
/// comm     t ranks. Outlives what is returned.
/// Returns  (...), the same on every rank. Its backward brings each rank the gradient of its logits: softmax, less 1
///          at the target, times the gradient of the token's loss. It sends nothing.
///
/// Cost     three ring all-reduces, each of a float for each token: the largest logit, the target's logit, the sum
///          of the exponentials. Two of them may go as one.
/// Memory   softmax, as large as logits, and a few numbers for each token. Backward makes the gradient of the logits
///          in its place: so it can run once.
/// Errors   std::invalid_argument, before any message, if a target is outside of the vocabulary, or targets have
///          another shape; dist::Error if a message fails. std::logic_error as above.
/// Source   NVIDIA, Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py.
at::Tensor vocab_parallel_cross_entropy(
    const at::Tensor& logits, const at::Tensor& targets, const Communicator& comm
);

}  // namespace dist
