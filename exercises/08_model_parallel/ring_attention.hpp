// Exercise 08: attention over a sequence that is cut across ranks. Keys and values go round;
// queries stay at home.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

struct RingAttentionOptions {
    bool causal = false;          // a token attends to itself and to those before it
    bool balanced = false;        // how tokens are shared out: see ring_attention_tokens()
    std::optional<double> scale;  // of the scores q k^T; 1 / sqrt(d) where none is given
};

/// The tokens of a sequence that a rank has, in ascending order.
///
/// s         tokens of the whole sequence.
/// p, rank   of so many ranks, this one.
/// balanced  false: rank r has the r-th of p pieces. true: there are 2p pieces, and rank r has
///           piece r of the head, and piece 2p-1-r of the tail.
/// Returns   s / p numbers in [0, s).
///
/// Errors  std::invalid_argument if p does not divide s, or 2p where balanced; or if rank is none
///         of p.
std::vector<std::int64_t> ring_attention_tokens(std::int64_t s, int p, int rank, bool balanced);

/// softmax(scale q k^T) v over all tokens of a sequence, of which each of p ranks has n = s / p.
///
/// Scores may be far from 0, such as 10000: no exponential overflows, and no row is NaN.
///
/// q, k, v  (b, heads, n, d) float32, in any layout: rows of this rank's tokens, in ascending
///          order. The same shape on every rank. Stay as they are.
/// options  the same on every rank.
/// comm     p ranks. Outlives what is returned. While backward runs, nobody else sends on it.
/// Returns  (b, heads, n, d): the rows of this rank's tokens. Its backward, which every rank runs,
///          brings q, k and v their gradients from all tokens.
///
/// Cost     forward: p-1 messages to a neighbour on the ring, each of n keys and n values together,
///          2 b heads n d floats. Backward: 2p-1 such messages, p-1 of keys and values and p of
///          their gradients, which go home; none where p = 1.
/// Work     a rank computes at most p n^2 scores for each head; causal, those of pieces that its
///          tokens attend to: (r+1) n^2 on rank r, and (p+1)/2 n^2 on each rank where balanced.
///          Backward likewise.
/// Memory   at most, whatever p is: in forward three blocks of scores, (b, heads, n, n), and eight
///          tensors as large as q; in backward three blocks, and fourteen such tensors. In between:
///          the result and two floats for each of its rows, beside q, k and v.
/// Errors   std::invalid_argument, before any message, if q, k and v have other shapes than this;
///          if balanced, and not causal; if balanced, and n is odd. dist::Error, out of forward and
///          of backward, if a message fails. std::logic_error out of backward if it is to be
///          differentiated again (create_graph).
/// Source   Liu, Zaharia, Abbeel (2023), "Ring attention with blockwise transformers for
///          near-infinite context".
at::Tensor ring_attention(
    const at::Tensor& q,
    const at::Tensor& k,
    const at::Tensor& v,
    const RingAttentionOptions& options,
    const Communicator& comm
);

}  // namespace dist
