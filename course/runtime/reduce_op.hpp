// How two elements combine in a reduction.
#pragma once

#include <span>

namespace dist {

/// The reductions of torch.distributed (ReduceOp) and NCCL. `mean` adds up, and divides once, at
/// the end.
enum class ReduceOp { sum, mean, product, min, max };

/// The operation's name, as in messages and tables: "sum", "mean", ...
const char* name(ReduceOp op);

/// Combines `in` into `accumulated`, element by element: accumulated[i] = accumulated[i] op in[i].
///
/// in           n elements.
/// accumulated  n elements, in and out.
/// op           mean adds, like sum: whoever finishes the reduction divides, once, with `scale`.
///
/// Cost         n operations, 12n bytes of memory traffic.
/// Errors       std::invalid_argument if the lengths differ.
struct Accumulate {
    void operator()(std::span<const float> in, std::span<float> accumulated, ReduceOp op) const;
};
// An object: std::accumulate could be taken for a function of this name.
// NOLINTNEXTLINE(readability-identifier-naming)
inline constexpr Accumulate accumulate;

/// Multiplies every element of `data` by `factor`.
void scale(std::span<float> data, float factor);

}  // namespace dist
