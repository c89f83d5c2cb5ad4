// Exercise 08: a tensor that the ranks hold in one way, held in another. The gradient takes the way back.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// What each rank holds of one tensor, the whole, by PyTorch's names.
struct Placement {
    enum class Kind {
        replicate,  // every rank has the whole
        shard,      // rank r has chunk_bounds(size, p, r) of dimension dim, and all of the others
        partial,    // every rank has a tensor of the whole's shape: the whole is their sum
    };

    static constexpr Placement replicate() { return {Kind::replicate}; }
    static constexpr Placement shard(std::int64_t dim) { return {Kind::shard, dim}; }
    static constexpr Placement partial() { return {Kind::partial}; }

    Kind kind = Kind::replicate;
    std::int64_t dim = 0;  // of a shard

    bool operator==(const Placement& other) const {
        return kind == other.kind && (kind != Kind::shard || dim == other.dim);
    }
};

/// The placement of a tensor's gradient: a shard's is the same shard. That of a replicated tensor is replicated:
/// each rank has the whole gradient, so nobody adds them up. That of a partial tensor is replicated too: each
/// summand changes the sum as much as the sum itself.
Placement gradient_of(Placement placement);

/// The same tensor in another placement:
///
///     from \ to    replicate     shard(d)          shard(e), e != d    partial
///     replicate    .             its slice         its slice           kept by rank 0
///     shard(d)     all-gather    .                 all-to-all          in its place
///     partial      all-reduce    reduce-scatter    reduce-scatter      .
///
/// "kept by rank 0": all other ranks have zeros, so that no number is rounded. "in its place": among zeros.
///
/// Backward takes the gradient from gradient_of(to), or from `gradient`, to gradient_of(from), by the same table.
/// So with partial gradients it all-reduces them from replicate to replicate, where forward does nothing.
/// Differentiable as often as you like.
///
/// local     what this rank holds of the whole: float32 on the host, in any layout. Left as it is.
/// from      how the ranks hold it.
/// to        how they will.
/// shape     of the whole; p need not divide any of its sizes.
/// comm      outlives what is returned. Collective: every rank makes the same calls, of tensors that require a
///           gradient on all ranks or on none, and the same calls of backward.
/// gradient  how the ranks will hold the gradient of what is returned, where that is not gradient_of(to). What has
///           the whole's shape has a gradient that is replicated or partial.
/// returns   what this rank holds now. Contiguous, in memory of exactly its elements; from a placement to itself it
///           shares local's memory.
///
/// Cost    N elements of the whole, c of its largest shard, b of the largest block where the chunks of two
///         dimensions cross; if p divides the sizes, c = N/p and b = N/p^2. Each rank sends, there or back:
///           all-gather, reduce-scatter   p-1 messages, (p-1) c floats at most
///           all-to-all                   p-1 messages, (p-1) b floats at most
///           all-reduce                   2(p-1) messages, 2(p-1) ceil(N/p) floats at most
///           all else                     nothing
/// Errors  std::invalid_argument, before anything is sent, if there is no such dimension, if local is not float32 or
///         does not have the shape of this rank's part, or if the gradient cannot have that placement. dist::Error if
///         a message fails, here or out of backward.
/// Source  PyTorch, torch/distributed/tensor/_redistribute.py.
at::Tensor redistribute(
    const at::Tensor& local,
    Placement from,
    Placement to,
    at::IntArrayRef shape,
    const Communicator& comm,
    std::optional<Placement> gradient = {}
);

}  // namespace dist
