// Tensors that ranks hold together: the whole, known to all ranks, and what each of them has of it.
#pragma once

#include <ATen/ops/zeros.h>
#include <string>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/08_model_parallel/redistribute.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Kind = Placement::Kind;
using Shape = std::vector<std::int64_t>;

inline std::string name_of(Placement placement) {
    return placement.kind == Kind::replicate ? "replicate"
           : placement.kind == Kind::partial ? "partial"
                                             : "shard(" + std::to_string(placement.dim) + ")";
}

/// "(2, 3)"
inline std::string name_of(at::IntArrayRef shape) {
    std::string text;
    for (const std::int64_t size : shape) {
        text += (text.empty() ? "" : ", ") + std::to_string(size);
    }
    return "(" + text + ")";
}

/// All placements of a tensor of this shape.
inline std::vector<Placement> placements(const Shape& shape) {
    std::vector<Placement> all = {Placement::replicate(), Placement::partial()};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        all.push_back(Placement::shard(static_cast<std::int64_t>(d)));
    }
    return all;
}

/// Calls f(from, to) for all pairs of placements.
template <class F>
void for_all_ways(const Shape& shape, const F& f) {
    for (const Placement& from : placements(shape)) {
        for (const Placement& to : placements(shape)) {
            INFO("from " << name_of(from) << " to " << name_of(to) << ", of " << name_of(shape));
            f(from, to);
        }
    }
}

/// Rank r's slice of a dimension.
inline at::Tensor slice(const at::Tensor& whole, std::int64_t dim, const Communicator& comm) {
    const auto n = static_cast<std::size_t>(whole.size(dim));
    const Chunk chunk = chunk_bounds(n, comm.size(), comm.rank());
    return whole.narrow(
        dim, static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.size())
    );
}

/// A tensor of whole numbers, the sum of a summand of each rank.
struct Whole {
    Whole(at::IntArrayRef shape, std::uint64_t salt, const Communicator& ranks)
        : comm(ranks), summand(filled(shape, comm.rank(), salt)), sum(at::zeros(shape)) {
        for (int i = 0; i < comm.size(); ++i) {
            sum.add_(filled(shape, i, salt));
        }
    }

    /// What this rank holds of it.
    [[nodiscard]] at::Tensor part(Placement placement) const {
        const at::Tensor held = placement.kind == Kind::replicate ? sum
                                : placement.kind == Kind::partial ? summand
                                                                  : slice(sum, placement.dim, comm);
        return held.clone(at::MemoryFormat::Contiguous);
    }

    /// What this rank holds of it after it was moved.
    [[nodiscard]] at::Tensor moved(Placement from, Placement to) const {
        if (to.kind != Kind::partial || from.kind == Kind::partial) {
            return part(to);
        }
        at::Tensor held = at::zeros(sum.sizes());
        if (from.kind == Kind::shard) {
            slice(held, from.dim, comm).copy_(slice(sum, from.dim, comm));
        } else if (comm.rank() == 0) {
            held.copy_(sum);
        }
        return held;
    }

    const Communicator& comm;
    at::Tensor summand;
    at::Tensor sum;
};

/// As same(), of tensors: their shapes count as well.
inline Comparison same_tensor(
    const at::Tensor& got,
    const at::Tensor& expected,
    const std::vector<std::pair<at::Tensor, std::string>>& suspicions = {}
) {
    if (!got.defined()) {
        return {false, "it is undefined"};
    }
    if (got.sizes() != expected.sizes()) {
        return {
            false,
            "its shape is " + name_of(got.sizes()) + ", expected " + name_of(expected.sizes())};
    }
    std::vector<Suspicion> all;
    for (const auto& [tensor, sentence] : suspicions) {
        if (tensor.sizes() == expected.sizes()) {
            all.push_back({elements(tensor), sentence});
        }
    }
    return same(elements(got), elements(expected), 0.0, all);
}

/// Is this rank's result right?
inline Comparison is_moved(
    const at::Tensor& got, const Whole& whole, Placement from, Placement to
) {
    return same_tensor(
        got, whole.moved(from, to),
        {{whole.summand, "that is this rank's own summand: nothing was added to it"},
         {whole.sum, "that is the whole, and every rank has it: their sum is p times the whole"},
         {whole.moved(from, to).div(whole.comm.size()), "that is a p-th of it"}}
    );
}

/// Is the gradient of what was moved right? The whole's gradient is `gradient`.
inline Comparison is_gradient(const at::Tensor& got, const Whole& gradient, Placement from) {
    const at::Tensor expected =
        gradient.part(from.kind == Kind::shard ? from : Placement::replicate());
    return same_tensor(
        got, expected,
        {{expected.mul(gradient.comm.size()),
          "that is p times the gradient: each rank has the whole of it, and they were added up"},
         {expected.div(gradient.comm.size()), "that is a p-th of the gradient"},
         {gradient.summand, "that is this rank's part of the sum alone"}}
    );
}

}  // namespace dist::harness
