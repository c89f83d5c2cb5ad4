// The two layers of an MLP on one process, and what is in a rank's part of them. All numbers are whole, and so few that
// sums are exact in any order.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <functional>

#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

using Activation = std::function<at::Tensor(const at::Tensor&)>;

inline at::Tensor relu(const at::Tensor& h) {
    return at::relu(h);
}

/// y = W1 f(W0 x + b0) + b1, from 5 columns over 24 to 7: 1, 2, 3 and 4 divide 24.
struct WholeMlp {
    explicit WholeMlp(std::uint64_t salt = 0, bool biased = true)
        : w0(filled({24, 5}, 0, salt + 1).requires_grad_()),
          w1(filled({7, 24}, 0, salt + 2).requires_grad_()) {
        if (biased) {
            b0 = filled({24}, 0, salt + 3).requires_grad_();
            b1 = filled({7}, 0, salt + 4).requires_grad_();
        }
    }

    [[nodiscard]] at::Tensor forward(const at::Tensor& x, const Activation& f = relu) const {
        return at::linear(f(at::linear(x, w0, b0)), w1, b1);
    }

    at::Tensor w0, w1, b0, b1;
};

/// The same layers, cut.
struct CutMlp {
    CutMlp(const WholeMlp& whole, const Communicator& ranks)
        : column(whole.w0, whole.b0, ranks), row(whole.w1, whole.b1, ranks), comm(ranks) {}

    [[nodiscard]] at::Tensor forward(const at::Tensor& x, const Activation& f = relu) const {
        return tensor_parallel_mlp(x, column, row, f);
    }

    /// Whether all gradients of the layers are this rank's part of the whole's.
    void has_gradients_of(const WholeMlp& whole) const {
        const auto check = [](const char* what, const at::Tensor& got, const at::Tensor& expected) {
            INFO("the gradient of " << what);
            CHECK(equal(got.grad(), expected));
        };
        check("column.weight", column.weight, part(whole.w0.grad(), 0, comm));
        check("row.weight", row.weight, part(whole.w1.grad(), 1, comm));
        if (whole.b0.defined()) {
            check("column.bias", column.bias, part(whole.b0.grad(), 0, comm));
            check("row.bias", row.bias, whole.b1.grad());
        }
    }

    ColumnParallelLinear column;
    RowParallelLinear row;
    const Communicator& comm;
};

/// A leaf that requires a gradient.
inline at::Tensor trained(
    at::IntArrayRef shape, std::uint64_t salt, Layout layout = Layout::contiguous
) {
    return laid_out(filled(shape, 0, salt), layout).requires_grad_();
}

/// Output and all gradients are those of one process.
inline void computes_as_one(const CutMlp& cut, const WholeMlp& whole, const at::Tensor& x) {
    const at::Tensor same_x = x.detach().clone().requires_grad_();
    const at::Tensor expected = whole.forward(same_x);
    loss_of(expected).backward();
    const at::Tensor y = cut.forward(x);
    loss_of(y).backward();
    {
        INFO("the output, where the activation that is given is ReLU");
        CHECK(equal(y, expected));
    }
    cut.has_gradients_of(whole);
    INFO("the gradient of x");
    CHECK(equal(x.grad(), same_x.grad()));
}

}  // namespace dist::harness
