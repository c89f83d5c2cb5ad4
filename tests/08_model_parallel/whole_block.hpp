// A block of a transformer, without its attention, on one process, and cut over ranks of which each has its own tokens.
// All numbers are whole, and so few that sums are exact in any order.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <utility>
#include <vector>

#include "exercises/08_model_parallel/sequence_parallel.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

inline at::Tensor leaf_of(const at::Tensor& tensor) {
    return tensor.detach().clone().requires_grad_();
}

/// A leaf that requires a gradient.
inline at::Tensor trained(
    at::IntArrayRef shape, std::uint64_t salt, Layout layout = Layout::contiguous
) {
    return laid_out(filled(shape, 0, salt), layout).requires_grad_();
}

/// y = x + W1 relu(W0 (x scale + shift) + b0) + b1, of width 5, with 24 hidden numbers. Scale and shift are what a norm
/// has: each token is multiplied by them, and so are those of all ranks.
struct WholeBlock {
    explicit WholeBlock(std::uint64_t salt = 0)
        : scale(filled({5}, 0, salt + 1).requires_grad_()),
          shift(filled({5}, 0, salt + 2).requires_grad_()),
          w0(filled({24, 5}, 0, salt + 3).requires_grad_()),
          b0(filled({24}, 0, salt + 4).requires_grad_()),
          w1(filled({5, 24}, 0, salt + 5).requires_grad_()),
          b1(filled({5}, 0, salt + 6).requires_grad_()) {}

    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const {
        const at::Tensor h = at::relu(at::linear(x.mul(scale).add(shift), w0, b0));
        return x.add(at::linear(h, w1, b1));
    }

    at::Tensor scale, shift, w0, b0, w1, b1;
};

/// The same block, cut.
struct CutBlock {
    CutBlock(const WholeBlock& whole, const Communicator& ranks)
        : scale(leaf_of(whole.scale)),
          shift(leaf_of(whole.shift)),
          column(whole.w0, whole.b0, ranks),
          row(whole.w1, whole.b1, ranks),
          comm(ranks) {}

    /// x is this rank's tokens, and so is what is returned.
    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const {
        const at::Tensor h = at::relu(sequence_parallel_column_linear(
            x.mul(scale).add(shift), column.weight, column.bias, comm
        ));
        return x.add(sequence_parallel_row_linear(h, row.weight, row.bias, comm));
    }

    void add_up() const {
        const at::Tensor replicated[] = {scale, shift, row.bias};
        all_reduce_sequence_parallel_gradients(replicated, comm);
    }

    /// Whether all gradients are this rank's part of the whole's. After add_up().
    void has_gradients_of(const WholeBlock& whole) const {
        const auto check = [](const char* what, const at::Tensor& got, const at::Tensor& expected) {
            INFO("the gradient of " << what);
            CHECK(equal(got.grad(), expected));
        };
        check(
            "the column layer's weight (two exchanges at a time on one communicator mix)",
            column.weight, part(whole.w0.grad(), 0, comm)
        );
        check("the column layer's bias", column.bias, part(whole.b0.grad(), 0, comm));
        check("the row layer's weight", row.weight, part(whole.w1.grad(), 1, comm));
        check("the row layer's bias, added up over the ranks", row.bias, whole.b1.grad());
        check("the scale of the norm, added up over the ranks", scale, whole.scale.grad());
        check("the shift of the norm, added up over the ranks", shift, whole.shift.grad());
    }

    at::Tensor scale, shift;
    ColumnParallelLinear column;
    RowParallelLinear row;
    const Communicator& comm;
};

/// Tokens that every rank has go through a block: cut, block, whole again, loss. All as on one process.
inline void trains_as_one(
    const WholeBlock& whole, const CutBlock& cut, const at::Tensor& x, const Communicator& comm
) {
    const at::Tensor same_x = leaf_of(x);
    const at::Tensor expected = whole.forward(same_x);
    loss_of(expected).backward();
    const at::Tensor own = scatter_to_sequence_parallel_region(x, comm);
    const at::Tensor y =
        gather_from_sequence_parallel_region(cut.forward(own), comm, Placement::replicate());
    loss_of(y).backward();
    cut.add_up();
    {
        INFO("the output, gathered");
        CHECK(equal(y, expected));
    }
    cut.has_gradients_of(whole);
    INFO("the gradient of x, which every rank has as a whole");
    CHECK(equal(x.grad(), same_x.grad()));
}

}  // namespace dist::harness
