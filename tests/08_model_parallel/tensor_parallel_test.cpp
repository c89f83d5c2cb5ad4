// What tensor_parallel must do: compute as one process does, with a part of each weight, and two all-reduces, of which
// backward's travels while the gradient of the weight is computed.
#include "exercises/08_model_parallel/tensor_parallel.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tests/08_model_parallel/parts.hpp"
#include "tests/08_model_parallel/when_computed.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/gone.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Activation = std::function<at::Tensor(const at::Tensor&)>;

at::Tensor relu(const at::Tensor& h) {
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
at::Tensor trained(at::IntArrayRef shape, std::uint64_t salt, Layout layout = Layout::contiguous) {
    return laid_out(filled(shape, 0, salt), layout).requires_grad_();
}

/// Output and all gradients are those of one process.
void computes_as_one(const CutMlp& cut, const WholeMlp& whole, const at::Tensor& x) {
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

const Forbid kForbid({"collectives"}, "This exercise stands on your own ring_all_reduce.");

/// One ring all-reduce of n floats, which p divides.
Cost all_reduce(std::int64_t n, const Communicator& comm) {
    const long messages = 2L * (comm.size() - 1);
    return {
        .messages_sent = exactly(messages),
        .bytes_sent = exactly(messages * float_bytes(static_cast<std::size_t>(n)) / comm.size()),
        .among = neighbours(comm)};
}

}  // namespace

TEST_CASE("each rank has its part of the whole weights, as leaves that require gradients") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const auto check = [](const char* what, const at::Tensor& got, const at::Tensor& expected) {
            INFO(what);
            CHECK(equal(got, expected));
            CHECK(got.is_leaf());
            CHECK(got.requires_grad());
        };
        check("column.weight", cut.column.weight, part(whole.w0, 0, comm));
        check("column.bias", cut.column.bias, part(whole.b0, 0, comm));
        check("row.weight", cut.row.weight, part(whole.w1, 1, comm));
        check("row.bias", cut.row.bias, whole.b1);
    });
}

TEST_CASE("the whole weights may go: a layer holds no memory of theirs") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        std::optional<WholeMlp> whole(0);
        std::vector<WatchedMemory> watched;
        for (const at::Tensor& tensor : {whole->w0, whole->b0, whole->w1, whole->b1}) {
            watched.emplace_back(tensor);
        }
        const CutMlp cut(*whole, comm);
        whole.reset();
        INFO("are the layer's weights views, which keep the whole weights alive?");
        for (const WatchedMemory& memory : watched) {
            CHECK(memory.is_gone());
        }
    });
}

TEST_CASE("a column-parallel layer gives this rank's columns, and sends nothing") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const bool biased : {true, false}) {
            const WholeMlp whole(0, biased);
            const ColumnParallelLinear column(whole.w0, whole.b0, comm);
            const at::Tensor x = filled({2, 6, 5}, 0, 9);
            at::Tensor y;
            const Traffic traffic = record(comm, [&] { y = column.forward(x); });
            INFO((biased ? "with a bias" : "without a bias"));
            CHECK(equal(y, part(at::linear(x, whole.w0, whole.b0), -1, comm)));
            INFO("the next layer takes these columns as they are: nothing has to be gathered");
            CHECK(traffic.messages_sent == 0);
        }
    });
}

TEST_CASE("a row-parallel layer adds up over the ranks, and adds its bias once") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const bool biased : {true, false}) {
            const WholeMlp whole(0, biased);
            const RowParallelLinear row(whole.w1, whole.b1, comm);
            const at::Tensor h = filled({2, 6, 24}, 0, 9);
            at::Tensor y;
            const Traffic forward = record(comm, [&] { y = row.forward(part(h, -1, comm)); });
            const Traffic backward = record(comm, [&] { loss_of(y).backward(); });
            const at::Tensor sum = at::linear(h, whole.w1);
            const auto with_biases = [&](int n) { return biased ? sum.add(whole.b1, n) : sum; };
            INFO((biased ? "with a bias" : "without a bias"));
            const Comparison result = equal(
                y, with_biases(1),
                {{sum, "that is the sum without the bias"},
                 {with_biases(comm.size()),
                  "the bias is in it once for each rank: add it after the reduction"}}
            );
            CHECK(result);
            CHECK(within(forward, all_reduce(y.numel(), comm)));
            INFO("backward of a row-parallel layer: each rank has the whole gradient already");
            CHECK(backward.messages_sent == 0);
        }
    });
}

TEST_CASE("output and all gradients are those of one process, for any shape and layout of x") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const auto& shape : std::vector<std::vector<std::int64_t>>{{12, 5}, {5}, {0, 5}}) {
            for (const bool biased : {true, false}) {
                const WholeMlp whole(0, biased);
                INFO("x of shape " << at::IntArrayRef(shape) << (biased ? "" : ", without biases"));
                computes_as_one(CutMlp(whole, comm), whole, trained(shape, 9));
            }
        }
        for (const Layout layout : kLayouts) {
            const WholeMlp whole;
            INFO("x of shape [2, 6, 5] lies " << name_of(layout));
            computes_as_one(CutMlp(whole, comm), whole, trained({2, 6, 5}, 9, layout));
        }
    });
}

TEST_CASE("gradients may come in any layout: that of a sum is one number for all") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x = trained({2, 6, 5}, 9);
        const at::Tensor same_x = x.detach().clone().requires_grad_();
        whole.forward(same_x).sum().backward();
        cut.forward(x).sum().backward();
        for (const Layout layout : {Layout::transposed, Layout::expanded}) {
            const at::Tensor g = laid_out(filled({2, 6, 24}, 0, 7), layout);
            at::linear(same_x, whole.w0, whole.b0).mul(g).sum().backward();
            cut.column.forward(x).mul(laid_out(part(g, -1, comm), layout)).sum().backward();
        }
        cut.has_gradients_of(whole);
        CHECK(equal(x.grad(), same_x.grad()));
    });
}

TEST_CASE("the activation is GELU, where none is given") {
    on_ranks({2}, [](const Communicator& comm) {
        const WholeMlp whole;
        const at::Tensor x = filled({12, 5}, 0, 9).div(64);
        const auto gelu = [](const at::Tensor& h) { return at::gelu(h); };
        // 24 products of h < 8 and w <= 8, of which each and each sum is rounded by 2^-24 of itself
        CHECK(same(
            elements(CutMlp(whole, comm).forward(x, {})), elements(whole.forward(x, gelu)), 1e-3,
            {{elements(whole.forward(x)), "that is with ReLU"}}
        ));
    });
}

TEST_CASE("an MLP sends one all-reduce of y in forward, and one of x in backward") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x = trained({2, 6, 5}, 9);
        at::Tensor loss;
        const Traffic forward = record(comm, [&] { loss = loss_of(cut.forward(x)); });
        const Traffic backward = record(comm, [&] { loss.backward(); });
        {
            INFO("forward: one all-reduce of y's 84 floats, and nothing between the layers");
            CHECK(within(forward, all_reduce(84, comm)));
        }
        INFO("backward: one all-reduce of the 60 floats of x's gradient");
        CHECK(within(backward, all_reduce(60, comm)));
    });
}

TEST_CASE("where x needs no gradient, backward sends nothing, and weights have theirs all the same"
) {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x = filled({2, 6, 5}, 0, 9);
        loss_of(whole.forward(x)).backward();
        const at::Tensor loss = loss_of(cut.forward(x));
        const Traffic backward = record(comm, [&] { loss.backward(); });
        CHECK(backward.messages_sent == 0);
        cut.has_gradients_of(whole);
    });
}

TEST_CASE("where autograd is off, forward gives the same, and leaves nothing for backward") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x = trained({2, 6, 5}, 9);
        const at::NoGradGuard off;
        const at::Tensor y = cut.forward(x);
        CHECK(equal(y, whole.forward(x)));
        CHECK_FALSE(y.requires_grad());
        CHECK_FALSE(at::GradMode::is_enabled());
    });
}

TEST_CASE("messages of backward begin before the weight's gradient is computed, and nobody waits") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Communicator others = comm.split(0, comm.rank());
        const at::Tensor whole = filled({12, 7}, 0, 1);
        const ColumnParallelLinear column(whole, {}, comm);
        const at::Tensor x = filled({5, 7}, 0, 2).requires_grad_();
        const at::Tensor y = column.forward(x);
        INFO("the other ranks begin backward when rank 0 has computed its weight's gradient, and");
        INFO("rank 0 goes on when they have the gradient of x: so it has to begin its all-reduce");
        INFO("before that product, and to wait for it afterwards");
        char word = 0;
        const auto tell = [&](int rank) { MPI_Send(&word, 1, MPI_CHAR, rank, 0, others.handle()); };
        const auto hear = [&](int rank) {
            MPI_Recv(&word, 1, MPI_CHAR, rank, 0, others.handle(), MPI_STATUS_IGNORE);
        };
        if (comm.rank() == 0) {
            const WhenComputed computed(x.numel(), column.weight.numel(), [&] {
                for (int rank = 1; rank < comm.size(); ++rank) {
                    tell(rank);
                }
                for (int rank = 1; rank < comm.size(); ++rank) {
                    hear(rank);
                }
            });
            y.sum().backward();
            CHECK(computed.happened());
        } else {
            y.register_hook([&](const at::Tensor& /*gradient*/) { hear(0); });
            x.register_hook([&](const at::Tensor& /*gradient*/) { tell(0); });
            y.sum().backward();
        }
        CHECK(equal(x.grad(), whole.sum(0).expand({5, 7})));
    });
}

TEST_CASE("the gradient of x is added up when it is there, also if another rank is late") {
    // A hook sees the gradient of x as soon as there is one.
    on_ranks({2, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const ColumnParallelLinear column(whole.w0, whole.b0, comm);
        const at::Tensor x = filled({2, 6, 5}, 0, 9).requires_grad_();
        std::vector<float> then;
        x.register_hook([&](const at::Tensor& gradient) { then = elements(gradient); });
        std::optional<LateMessages> late;
        if (comm.rank() == 1) {
            late.emplace(30);
        }
        column.forward(x).sum().backward();
        late.reset();
        const auto sums = [](const at::Tensor& w) { return w.detach().sum(0).expand({2, 6, 5}); };
        CHECK(same(
            then, elements(sums(whole.w0)), 0,
            {{elements(sums(column.weight)),
              "that is this rank's part: who waits for the others'?"}}
        ));
    });
}

TEST_CASE("gradients of two calls add up, also where both come before the first backward") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x[] = {trained({12, 5}, 9), trained({12, 5}, 10)};
        at::Tensor loss[2];
        for (int i = 0; i < 2; ++i) {
            loss_of(whole.forward(x[i].detach())).backward();
            loss[i] = loss_of(cut.forward(x[i]));
        }
        loss[0].backward();
        loss[1].backward();
        cut.has_gradients_of(whole);
    });
}

TEST_CASE("an MLP takes ranks from the communicator that it is given, beside one on all ranks") {
    on_ranks({4}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, comm.rank());
        const WholeMlp for_all;
        const WholeMlp for_group(static_cast<std::uint64_t>(10 + number));
        const CutMlp all(for_all, comm);
        const CutMlp own(for_group, group);
        const at::Tensor x = trained({12, 5}, 9);
        const at::Tensor loss = loss_of(all.forward(x));
        INFO("two groups of two ranks, each with weights of its own, within an MLP of all four");
        computes_as_one(own, for_group, trained({12, 5}, static_cast<std::uint64_t>(9 + number)));
        loss.backward();
        loss_of(for_all.forward(x.detach())).backward();
        all.has_gradients_of(for_all);
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    const WholeMlp whole;
    reports_failures([&](const Communicator& comm) {
        const RowParallelLinear row(whole.w1, whole.b1, comm);
        (void)row.forward(part(filled({2, 24}, 0, 9), -1, comm));
    });
    reports_failures([&](const Communicator& comm) {
        const ColumnParallelLinear column(whole.w0, whole.b0, comm);
        column.forward(trained({2, 5}, 9)).sum().backward();
    });
}

TEST_CASE("weights that ranks do not divide are refused, and x of other columns") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor odd = filled({25, 25}, 0, 1);
        const WholeMlp whole;
        const CutMlp cut(whole, comm);
        const at::Tensor x = filled({2, 5}, 0, 9);
        const at::Tensor wide = filled({2, 25}, 0, 9);
        const RowParallelLinear other(filled({7, 12}, 0, 2), {}, comm);
        const std::vector<std::pair<const char*, std::function<void()>>> wrong = {
            {"25 columns of y", [&] { ColumnParallelLinear(odd, {}, comm); }},
            {"25 columns of x", [&] { RowParallelLinear(odd, {}, comm); }},
            {"x of 25 columns for 5", [&] { (void)cut.column.forward(wide); }},
            {"x of 25 columns for 24 / p", [&] { (void)cut.row.forward(wide); }},
            {"x without dimensions", [&] { (void)cut.column.forward(at::empty({})); }},
            {"24 columns of h for 12", [&] { (void)tensor_parallel_mlp(x, cut.column, other); }}};
        for (const auto& [what, call] : wrong) {
            refuses(comm, what, call);
        }
    });
}
