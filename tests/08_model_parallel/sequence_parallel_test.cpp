// What sequence_parallel must do: compute as one process does, where each rank keeps a t-th of the tokens between cut
// layers, and send what the header says.
#include "exercises/08_model_parallel/sequence_parallel.hpp"

#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/08_model_parallel/recompute.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/08_model_parallel/seed_generator.hpp"
#include "tests/08_model_parallel/when_computed.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

at::Tensor leaf_of(const at::Tensor& tensor) {
    return tensor.detach().clone().requires_grad_();
}

/// A leaf that requires a gradient.
at::Tensor trained(at::IntArrayRef shape, std::uint64_t salt, Layout layout = Layout::contiguous) {
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
void trains_as_one(
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

/// Which of 64 ones dropout leaves.
at::Tensor mask() {
    return at::dropout(at::ones({64}), 0.5, /*train=*/true).sign();
}

at::Tensor mask_of_own(const Communicator& comm) {
    const ShardedRandom random(comm);
    return mask();
}

/// So many all-gathers or reduce-scatters of n floats, which p divides.
Cost units(long count, std::int64_t n, const Communicator& comm) {
    const long messages = count * (comm.size() - 1);
    return {
        .messages_sent = exactly(messages),
        .bytes_sent = exactly(messages * float_bytes(static_cast<std::size_t>(n)) / comm.size())};
}

/// A tensor of whole numbers that each rank may have for itself.
struct Whole {
    [[nodiscard]] at::Tensor of(int rank, std::uint64_t salt) const {
        return laid_out(filled(shape, rank, salt), layout);
    }
    [[nodiscard]] at::Tensor sum(std::uint64_t salt, const Communicator& comm) const {
        at::Tensor all = of(0, salt).clone(at::MemoryFormat::Contiguous);
        for (int rank = 1; rank < comm.size(); ++rank) {
            all.add_(of(rank, salt));
        }
        return all;
    }

    std::vector<std::int64_t> shape;
    Layout layout = Layout::contiguous;
};

/// Calls f with wholes of several shapes and layouts, on 1 to 4 ranks.
void for_wholes(const std::function<void(const Whole&, const Communicator&)>& f) {
    on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
        std::vector<Whole> wholes = {
            {{1, 24, 5}}, {{3, 12}}, {{2, 12, 3, 2}}, {{0, 12, 5}}, {{2, 0, 5}}};
        for (const Layout layout : kLayouts) {
            wholes.push_back({{2, 12, 5}, layout});
        }
        for (const Whole& whole : wholes) {
            INFO(
                "the whole has shape " << at::IntArrayRef(whole.shape)
                                       << "; tensors and gradients lie " << name_of(whole.layout)
            );
            f(whole, comm);
        }
    });
}

void refuses_tokens_that_ranks_do_not_divide() {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor x = filled({2, 25, 5}, 0, 1);
        const at::Tensor w = filled({6, 5}, 0, 2);
        const auto refused = [&](const char* what, const std::function<at::Tensor()>& call) {
            refuses(
                comm, std::string(what) + " of 25 tokens", [&] { (void)call(); }, as_now({x, w})
            );
        };
        refused("scatter", [&] { return scatter_to_sequence_parallel_region(x, comm); });
        refused("reduce-scatter", [&] {
            return reduce_scatter_to_sequence_parallel_region(x, comm);
        });
        refused("a row layer", [&] { return sequence_parallel_row_linear(x, w, {}, comm); });
    });
}

void refuses_other_shapes() {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const at::Tensor w = filled({6, 5}, 0, 2);
        const auto refused = [&](const std::string& what, const at::Tensor& x,
                                 const std::function<at::Tensor()>& call) {
            refuses(
                comm, what, [&] { (void)call(); }, as_now({x, w})
            );
        };
        for (const std::vector<std::int64_t>& shape :
             {std::vector<std::int64_t>{2, 12, 6}, {12, 5}, {2, 2, 12, 5}, {5}}) {
            const at::Tensor x = filled(shape, 0, 1);
            const std::string text = ", x of " + std::to_string(shape.size()) + " dimensions and " +
                                     std::to_string(shape.back()) + " columns for 5";
            refused("a column layer" + text, x, [&] {
                return sequence_parallel_column_linear(x, w, {}, comm);
            });
            refused("a row layer" + text, x, [&] {
                return sequence_parallel_row_linear(x, w, {}, comm);
            });
        }
        const at::Tensor x = filled({6}, 0, 1);
        refused("gather of one dimension", x, [&] {
            return gather_from_sequence_parallel_region(x, comm);
        });
        refused("scatter of one dimension", x, [&] {
            return scatter_to_sequence_parallel_region(x, comm);
        });
        refused("reduce-scatter of one dimension", x, [&] {
            return reduce_scatter_to_sequence_parallel_region(x, comm);
        });
        const at::Tensor tokens = filled({2, 12, 5}, 0, 1);
        refused("gather with a gradient that is a shard", tokens, [&] {
            return gather_from_sequence_parallel_region(tokens, comm, Placement::shard(1));
        });
    });
}

/// B, T and width of what is measured: 1, 2, 3 and 4 divide T, and it is more than a thread's stack may hold unseen.
const std::vector<std::int64_t> kMeasured = {2, 480, 32};

std::size_t float_bytes_of(at::IntArrayRef shape) {
    std::size_t bytes = sizeof(float);
    for (const std::int64_t size : shape) {
        bytes *= static_cast<std::size_t>(size);
    }
    return bytes;
}

/// What would be held too much if the whole of x were kept in the place of this rank's tokens.
ByteSuspicion whole_kept(std::size_t whole_bytes, const Communicator& comm) {
    const std::size_t shard = whole_bytes / static_cast<std::size_t>(comm.size());
    return {
        whole_bytes - shard,
        "that is x of all tokens, in the place of this rank's: gather them again in backward"};
}

/// A column layer of 7 columns and 12 rows, and five tokens on each rank; words from rank to rank, beside its messages.
struct Watched {
    explicit Watched(const Communicator& ranks)
        : comm(ranks),
          words(ranks.split(0, ranks.rank())),
          whole(filled({12, 7}, 0, 1)),
          column(whole, {}, ranks),
          x(filled({1, 5, 7}, ranks.rank(), 2).requires_grad_()),
          y(sequence_parallel_column_linear(x, column.weight, {}, ranks)) {}

    void tell(int rank) const { MPI_Send(&kWord, 1, MPI_CHAR, rank, 0, words.handle()); }
    void hear(int rank) const {
        char word = 0;
        MPI_Recv(&word, 1, MPI_CHAR, rank, 0, words.handle(), MPI_STATUS_IGNORE);
    }

    /// Rank 0 lets all others go on, and waits until each has said a word.
    void others_go_on() const {
        for (int rank = 1; rank < comm.size(); ++rank) {
            tell(rank);
        }
        for (int rank = 1; rank < comm.size(); ++rank) {
            hear(rank);
        }
    }

    /// Calls f when the gradient of all tokens has been computed, or that of the weight.
    [[nodiscard]] WhenComputed when_dx(const std::function<void()>& f) const {
        return {column.weight.numel(), all(), f};
    }
    [[nodiscard]] WhenComputed when_dw(const std::function<void()>& f) const {
        return {all(), column.weight.numel(), f};
    }

    void backward() const {
        y.sum().backward();
        CHECK(equal(x.grad(), whole.sum(0).expand({1, 5, 7})));
    }

    const Communicator& comm;
    Communicator words;
    at::Tensor whole;
    ColumnParallelLinear column;
    at::Tensor x;
    at::Tensor y;

  private:
    static constexpr char kWord = 0;
    [[nodiscard]] std::int64_t all() const { return comm.size() * x.numel(); }
};

/// Gradients of many shapes, which lie in memory so, among parameters that have none.
void gradients_are_added_up(Layout layout, const Communicator& comm) {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    for (const auto& shape : kShapes) {
        const std::uint64_t salt = parameters.size();
        parameters.push_back(filled(shape, 0, salt).requires_grad_());
        gradients.push_back(laid_out(filled(shape, comm.rank(), salt), layout));
        parameters.back().mutable_grad() = gradients.back();
        parameters.push_back(filled({3}, 0, salt).requires_grad_());
    }
    const Traffic traffic =
        record(comm, [&] { all_reduce_sequence_parallel_gradients(parameters, comm); });
    INFO("gradients lie " << name_of(layout));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        INFO("a parameter of shape " << at::IntArrayRef(kShapes[i]));
        at::Tensor sum = filled(kShapes[i], 0, 2 * i);
        for (int rank = 1; rank < comm.size(); ++rank) {
            sum.add_(filled(kShapes[i], rank, 2 * i));
        }
        const Comparison result = equal(
            gradients[i], sum,
            {{sum.div(comm.size()), "that is their mean: each rank has seen other tokens"},
             {filled(kShapes[i], comm.rank(), 2 * i), "that is what this rank's tokens gave alone"}}
        );
        CHECK(result);
        INFO("the gradient has to stay where it is: it may be a view of something larger");
        CHECK(parameters[2 * i].grad().is_same(gradients[i]));
        INFO("a parameter between the others has no gradient, and gets none");
        CHECK_FALSE(parameters[2 * i + 1].grad().defined());
    }
    INFO("50 floats in all, in one all-reduce: as many messages as for a single parameter");
    CHECK(within(
        traffic, {.messages_sent = exactly(2L * (comm.size() - 1)),
                  .bytes_sent = at_most(2L * (comm.size() - 1) * 4 * ceil_div(50, comm.size()))}
    ));
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

}  // namespace

TEST_CASE("gather gives all tokens in order, and adds up what the ranks find of their gradient") {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        const at::Tensor x = part(whole.of(0, 1), 1, comm).requires_grad_();
        const at::Tensor y = gather_from_sequence_parallel_region(x, comm);
        CHECK(equal(y, whole.of(0, 1)));
        const at::Tensor own = whole.of(comm.rank(), 2);
        y.backward(own);
        INFO("each rank goes on in its own way: a part of a token's gradient is on every rank");
        CHECK(equal(
            x.grad(), part(whole.sum(2, comm), 1, comm),
            {{part(own, 1, comm), "that is what this rank has found of it alone"}}
        ));
    });
}

TEST_CASE("where all ranks do the same with all tokens, gather's gradient is there: nobody sends") {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        const at::Tensor x = part(whole.of(0, 1), 1, comm).requires_grad_();
        const at::Tensor y = gather_from_sequence_parallel_region(x, comm, Placement::replicate());
        const Traffic traffic = record(comm, [&] { y.backward(whole.of(0, 2)); });
        const at::Tensor expected = part(whole.of(0, 2), 1, comm);
        CHECK(equal(
            x.grad(), expected,
            {{expected.mul(comm.size()), "that is the same gradient, once for each rank"}}
        ));
        CHECK(traffic.messages_sent == 0);
    });
}

TEST_CASE("reduce-scatter gives this rank's tokens of the sum, and each summand all of the gradient"
) {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        const at::Tensor x = whole.of(comm.rank(), 1).requires_grad_();
        const auto kept = as_now({x});
        const at::Tensor y = reduce_scatter_to_sequence_parallel_region(x, comm);
        const Comparison unchanged = kept();
        CHECK(unchanged);
        CHECK(equal(y, part(whole.sum(1, comm), 1, comm)));
        y.backward(part(whole.of(0, 2), 1, comm));
        INFO("a rank's summand is in the tokens of all ranks: is its gradient of all tokens?");
        CHECK(equal(x.grad(), whole.of(0, 2)));
    });
}

TEST_CASE("scatter gives this rank's tokens of what all have, and all of them the whole gradient") {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        const at::Tensor x = whole.of(0, 1).requires_grad_();
        const at::Tensor y = scatter_to_sequence_parallel_region(x, comm);
        CHECK(equal(y, part(x, 1, comm)));
        y.backward(part(whole.of(0, 2), 1, comm));
        INFO("every rank has all of x: is the gradient 0 where another rank has the token?");
        CHECK(equal(x.grad(), whole.of(0, 2)));
    });
}

TEST_CASE("each way costs one all-gather or reduce-scatter, or nothing, there and back") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const auto costs = [&](const char* what, long there, long back,
                               const std::function<at::Tensor()>& call) {
            at::Tensor y;
            const Traffic forward = record(comm, [&] { y = call(); });
            const Traffic backward = record(comm, [&] { y.sum().backward(); });
            INFO(what << ", of 240 floats in all");
            {
                INFO("forward");
                CHECK(within(forward, units(there, 240, comm)));
            }
            INFO("backward");
            CHECK(within(backward, units(back, 240, comm)));
        };
        const at::Tensor x = filled({2, 24, 5}, comm.rank(), 1).requires_grad_();
        const at::Tensor own = leaf_of(part(x, 1, comm));
        costs("gather", 1, 1, [&] { return gather_from_sequence_parallel_region(own, comm); });
        costs("gather, with a replicated gradient", 1, 0, [&] {
            return gather_from_sequence_parallel_region(own, comm, Placement::replicate());
        });
        costs("reduce-scatter", 1, 1, [&] {
            return reduce_scatter_to_sequence_parallel_region(x, comm);
        });
        costs("scatter", 0, 1, [&] { return scatter_to_sequence_parallel_region(x, comm); });
    });
}

TEST_CASE("an MLP costs 5 units in each step, of which tensor_parallel_mlp takes 4") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const WholeBlock whole;
        const CutBlock cut(whole, comm);
        const at::Tensor x = leaf_of(part(filled({2, 12, 5}, 0, 9), 1, comm));
        at::Tensor loss;
        const Traffic forward = record(comm, [&] { loss = cut.forward(x).sum(); });
        const Traffic backward = record(comm, [&] { loss.backward(); });
        {
            INFO("forward: all-gather before the column layer, reduce-scatter behind the row layer"
            );
            CHECK(within(forward, units(2, 120, comm)));
        }
        INFO(
            "backward: all-gather of y's gradient, all-gather of x, reduce-scatter of x's "
            "gradient. "
            "Two units: is x of all tokens kept? Four: is something added up twice?"
        );
        CHECK(within(backward, units(3, 120, comm)));
    });
}

TEST_CASE("a row-parallel layer adds its bias once, to the tokens that a rank keeps") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const bool biased : {true, false}) {
            const at::Tensor w = filled({7, 24}, 0, 1).requires_grad_();
            const at::Tensor b = biased ? filled({7}, 0, 2).requires_grad_() : at::Tensor();
            const RowParallelLinear row(w, b, comm);
            const at::Tensor h = filled({2, 12, 24}, 0, 3);
            const at::Tensor y =
                sequence_parallel_row_linear(part(h, -1, comm), row.weight, row.bias, comm);
            const at::Tensor sum = part(at::linear(h, w), 1, comm);
            INFO((biased ? "with a bias" : "without a bias"));
            const Comparison result =
                biased ? equal(
                             y, sum.add(b),
                             {{sum, "that is the sum without the bias"},
                              {sum.add(b, comm.size()),
                               "the bias is in it once for each rank: add it behind the reduction"}}
                         )
                       : equal(y, sum);
            CHECK(result);
        }
    });
}

TEST_CASE("a column-parallel layer gives its columns of all tokens, with and without a bias") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const bool biased : {true, false}) {
            const at::Tensor w = filled({24, 5}, 0, 1).requires_grad_();
            const at::Tensor b = biased ? filled({24}, 0, 2).requires_grad_() : at::Tensor();
            const ColumnParallelLinear column(w, b, comm);
            const at::Tensor x = filled({2, 12, 5}, 0, 3);
            const at::Tensor y =
                sequence_parallel_column_linear(part(x, 1, comm), column.weight, column.bias, comm);
            INFO((biased ? "with a bias" : "without a bias"));
            CHECK(equal(y, part(at::linear(x, w, b), -1, comm)));
        }
    });
}

TEST_CASE("a block between scatter and gather is that of one process, output and all gradients") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const std::vector<std::int64_t>& shape :
             {std::vector<std::int64_t>{2, 12, 5}, {1, 24, 5}, {2, 0, 5}}) {
            const WholeBlock whole;
            INFO("x of shape " << at::IntArrayRef(shape));
            trains_as_one(whole, CutBlock(whole, comm), trained(shape, 9), comm);
        }
        for (const Layout layout : kLayouts) {
            const WholeBlock whole;
            INFO("x of shape [2, 12, 5] lies " << name_of(layout));
            trains_as_one(whole, CutBlock(whole, comm), trained({2, 12, 5}, 9, layout), comm);
        }
    });
}

TEST_CASE("the column layer takes tokens and gradients in any layout") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const Layout layout : kLayouts) {
            INFO("this rank's tokens, and the gradient of its columns, lie " << name_of(layout));
            const at::Tensor w = filled({12, 5}, 0, 1).requires_grad_();
            const ColumnParallelLinear column(w, {}, comm);
            const at::Tensor x = trained({2, 12, 5}, 3, layout);
            const at::Tensor own = part(x, 1, comm).requires_grad_();
            const at::Tensor upstream = laid_out(filled({2, 12, 12}, 0, 4), layout);
            at::linear(x, w).backward(upstream);
            sequence_parallel_column_linear(own, column.weight, {}, comm)
                .backward(part(upstream, -1, comm));
            const Comparison gradient = equal(own.grad(), part(x.grad(), 1, comm));
            CHECK(gradient);
            INFO("the gradient of the weight");
            CHECK(equal(column.weight.grad(), part(w.grad(), 0, comm)));
        }
    });
}

TEST_CASE("from forward to backward each function holds its result alone: no tokens of others") {
    // Each function holds what it returns, and no more.
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const std::size_t all = float_bytes_of(kMeasured);
        const std::size_t own = all / static_cast<std::size_t>(comm.size());
        const at::Tensor x = filled(kMeasured, comm.rank(), 1).requires_grad_();
        const at::Tensor tokens = leaf_of(part(x, 1, comm));
        const at::Tensor w = filled({96 / comm.size(), 32}, 0, 2).requires_grad_();
        const at::Tensor rows = filled({24, 32}, 0, 3).requires_grad_();
        const at::Tensor bias = filled({96 / comm.size()}, 0, 4).requires_grad_();
        const auto holds = [&](const char* what, std::size_t bytes,
                               const std::function<at::Tensor()>& call,
                               const std::vector<ByteSuspicion>& too_many) {
            const MemoryBefore before;
            const at::Tensor result = call();
            INFO("bytes that are there after " << what << ", and were not before it");
            CHECK(same_bytes(before.tensors_since(), bytes, {}, too_many));
            CHECK(before.nothing_beside());
        };
        const ByteSuspicion view = {
            all - own, "the result is a view of the whole, which lives as long as it does"};
        const auto scatter = [&] { return scatter_to_sequence_parallel_region(x, comm); };
        holds("scatter_to_sequence_parallel_region", own, scatter, {view});
        const auto reduce = [&] { return reduce_scatter_to_sequence_parallel_region(x, comm); };
        holds("reduce_scatter_to_sequence_parallel_region", own, reduce, {view});
        const auto gather = [&] { return gather_from_sequence_parallel_region(tokens, comm); };
        holds("gather_from_sequence_parallel_region", all, gather, {});
        const auto column = [&] { return sequence_parallel_column_linear(tokens, w, bias, comm); };
        holds(
            "sequence_parallel_column_linear", all * 3 / static_cast<std::size_t>(comm.size()),
            column, {{all, "that is x of all tokens: keep this rank's, and gather in backward"}}
        );
        const auto row = [&] { return sequence_parallel_row_linear(x, rows, {}, comm); };
        holds("sequence_parallel_row_linear", own * 24 / 32, row, {});
    });
}

TEST_CASE("a block with norm and dropout holds a t-th of what one process holds, to the byte") {
    // A block with a norm, GELU and dropout, as one process has it, and cut: t ranks hold a t-th each.
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const auto leaf = [](at::IntArrayRef shape, std::uint64_t salt) {
            return filled(shape, 0, salt).div(64).requires_grad_();
        };
        const at::Tensor scale = leaf({32}, 1);
        const at::Tensor shift = leaf({32}, 2);
        const at::Tensor w0 = leaf({96, 32}, 3);
        const at::Tensor b0 = leaf({96}, 4);
        const at::Tensor w1 = leaf({32, 96}, 5);
        const at::Tensor b1 = leaf({32}, 6);
        const at::Tensor x = leaf(kMeasured, 7);
        const at::Tensor own = leaf_of(part(x, 1, comm));
        const ColumnParallelLinear column(w0, b0, comm);
        const RowParallelLinear row(w1, b1, comm);
        const auto norm = [&](const at::Tensor& in) {
            return at::layer_norm(in, {32}, scale, shift);
        };
        const auto bytes_of = [](const std::function<at::Tensor()>& forward) {
            const MemoryBefore before;
            const at::Tensor y = forward();
            return before.tensors_since();
        };
        const std::size_t as_one = bytes_of([&] {
            const at::Tensor h = at::gelu(at::linear(norm(x), w0, b0));
            return x.add(at::dropout(at::linear(h, w1, b1), 0.5, true));
        });
        const std::size_t held = bytes_of([&] {
            const at::Tensor h = at::gelu(
                sequence_parallel_column_linear(norm(own), column.weight, column.bias, comm)
            );
            const at::Tensor y = sequence_parallel_row_linear(h, row.weight, row.bias, comm);
            const ShardedRandom random(comm);
            return own.add(at::dropout(y, 0.5, true));
        });
        INFO("one process holds " << as_one << " bytes of this block for backward, and its output");
        CHECK(same_bytes(
            held, as_one / static_cast<std::size_t>(comm.size()), {},
            {whole_kept(float_bytes_of(kMeasured), comm)}
        ));
    });
}

TEST_CASE("x is gathered again while the gradient of x is computed, and nobody waits") {
    // Rank 0 computes the gradient of x before the other ranks begin backward, and does not go on before they have all
    // tokens. That ends only where rank 0 has begun to send before, and waits for nobody.
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks begin backward when rank 0 has computed the gradient of x, and rank 0 "
            "goes on when they have the weight's, for which they need its tokens: so it has to "
            "begin the all-gather before that product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            const WhenComputed computed = it.when_dx([&] { it.others_go_on(); });
            it.backward();
            CHECK(computed.happened());
        } else {
            it.y.register_hook([&](const at::Tensor& /*gradient*/) { it.hear(0); });
            const WhenComputed computed = it.when_dw([&] { it.tell(0); });
            it.backward();
        }
    });
}

TEST_CASE("the gradient of x is added up while the weight's is computed, and nobody waits") {
    // Rank 0 computes the weight's gradient before the other ranks send theirs of x, and does not go on before they have
    // what the ranks have added up.
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks send the gradient of x when rank 0 has computed the weight's, and "
            "rank 0 "
            "goes on when they have theirs: so it has to begin the reduce-scatter before that "
            "product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            const WhenComputed computed = it.when_dw([&] { it.others_go_on(); });
            it.backward();
            CHECK(computed.happened());
        } else {
            it.x.register_hook([&](const at::Tensor& /*gradient*/) { it.tell(0); });
            const WhenComputed computed = it.when_dx([&] { it.hear(0); });
            it.backward();
            CHECK(computed.happened());
        }
    });
}

TEST_CASE("backward sends nothing for a gradient that nobody needs") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const bool trains_x : {true, false}) {
            for (const bool trains_w : {true, false}) {
                const at::Tensor x = filled({2, 4, 5}, comm.rank(), 1).requires_grad_(trains_x);
                const at::Tensor w = filled({6, 5}, comm.rank(), 2).requires_grad_(trains_w);
                const at::Tensor b = filled({6}, comm.rank(), 3).requires_grad_();
                const at::Tensor y = sequence_parallel_column_linear(x, w, b, comm);
                const Traffic traffic = record(comm, [&] { y.sum().backward(); });
                INFO(
                    "x " << (trains_x ? "needs a gradient" : "needs none") << ", the weight "
                         << (trains_w ? "needs one" : "needs none")
                );
                const long sent = (trains_x ? 1 : 0) + (trains_w ? 1 : 0);
                CHECK(within(traffic, units(sent, 40L * comm.size(), comm)));
                CHECK(x.grad().defined() == trains_x);
                CHECK(w.grad().defined() == trains_w);
                CHECK(b.grad().defined());
            }
        }
    });
}

TEST_CASE("gradients of what every rank has are added up in place, all in one all-reduce") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            gradients_are_added_up(layout, comm);
        }
        INFO("no parameter has a gradient");
        const at::Tensor frozen = filled({3}, 0, 1);
        all_reduce_sequence_parallel_gradients({}, comm);
        all_reduce_sequence_parallel_gradients({&frozen, 1}, comm);
        CHECK_FALSE(frozen.grad().defined());
    });
}

TEST_CASE("dropout differs on each rank in a scope and from scope to scope, and agrees outside") {
    // Masks before, between and behind two scopes; and in the scopes.
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        seed_generator(seed());
        std::vector<std::pair<std::string, at::Tensor>> masks;
        for (int i = 0; i < 3; ++i) {
            const at::Tensor common = mask();
            INFO("dropout number " << i << " outside of scopes: each rank has to have the same");
            CHECK(same_on_all_ranks(nn::floats(common), comm));
            masks.emplace_back("outside of scopes, dropout " + std::to_string(i), common);
            for (const char* const which : {"a first", "a second"}) {  // one right behind the other
                const at::Tensor rows = at::ones({comm.size(), 64});
                rows[comm.rank()].copy_(mask_of_own(comm));
                ring_all_gather(nn::floats(rows), comm);
                for (int rank = 0; rank < comm.size(); ++rank) {
                    masks.emplace_back(
                        std::string(which) + " scope behind dropout " + std::to_string(i) +
                            ", on rank " + std::to_string(rank),
                        rows[rank]
                    );
                }
            }
        }
        for (std::size_t i = 0; i < masks.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                INFO(masks[j].first << ", and " << masks[i].first << ": the same mask of 64");
                CHECK_FALSE(masks[i].second.equal(masks[j].second));
            }
        }
    });
}

TEST_CASE("after a scope all ranks draw the same, however many numbers each has drawn in it") {
    // Each rank draws another number of times in a scope, and so do two runs.
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const auto after = [&](const std::function<void()>& draw) {
            seed_generator(seed());
            at::randn({1});  // the generator keeps a second one for the next call
            try {
                const ShardedRandom random(comm);
                draw();
            } catch (const std::runtime_error&) {
            }
            return at::randn({5});
        };
        const at::Tensor expected = after([] {});
        const at::Tensor many = after([&] { at::randn({2 * comm.rank() + 1}); });
        const at::Tensor thrown = after([] {
            at::rand({3});
            throw std::runtime_error("a layer");
        });
        INFO("random numbers after a scope, which must not depend on those drawn within it");
        CHECK(same_on_all_ranks(nn::floats(many), comm));
        CHECK(identical(many, expected));
        INFO("the scope was left by an exception");
        CHECK(identical(thrown, expected));
    });
}

TEST_CASE("a scope has the same numbers again when the generator is brought back, as by recompute"
) {
    // The generator is brought back by hand, and by recompute.
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const auto from_the_seed = [&] {
            seed_generator(seed());
            return mask_of_own(comm);
        };
        const at::Tensor first = from_the_seed();
        {
            INFO("the generator is where it was before the first scope");
            CHECK(identical(from_the_seed(), first));
        }
        const auto trained_by =
            [&](const std::function<at::Tensor(const Module&, const at::Tensor&)>& call) {
                seed_generator(seed());
                const at::Tensor x = filled({4, 6}, comm.rank(), 7).requires_grad_();
                const at::Tensor y = call(
                    [&](const std::vector<at::Tensor>& inputs) {
                        const ShardedRandom random(comm);
                        return at::dropout(inputs[0].tanh(), 0.5, /*train=*/true);
                    },
                    x
                );
                y.sum().backward();
                return std::pair(y.detach(), x.grad());
            };
        const auto plain = [](const Module& module, const at::Tensor& x) { return module({x}); };
        const auto again = [](const Module& module, const at::Tensor& x) {
            return recompute(module, {x});
        };
        const auto [y, gradient] = trained_by(plain);
        const auto [same_y, same_gradient] = trained_by(again);
        INFO("a scope within recompute: output and gradient must have the same mask");
        CHECK(identical(same_y, y));
        CHECK(identical(same_gradient, gradient));
    });
}

TEST_CASE("a block may stand in recompute: the same gradients, for forward's 2 units once more") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeBlock whole;
        const CutBlock cut(whole, comm);
        const at::Tensor x = trained({2, 12, 5}, 9);
        const at::Tensor own = leaf_of(part(x, 1, comm));
        const at::Tensor upstream = filled({2, 12, 5}, 0, 60);
        whole.forward(x).mul(upstream).sum().backward();
        const Module block = [&](const std::vector<at::Tensor>& in) { return cut.forward(in[0]); };
        const at::Tensor loss = recompute(block, {own}).mul(part(upstream, 1, comm)).sum();
        const Traffic backward = record(comm, [&] { loss.backward(); });
        cut.add_up();
        cut.has_gradients_of(whole);
        {
            INFO("the gradient of this rank's tokens");
            CHECK(equal(own.grad(), part(x.grad(), 1, comm)));
        }
        CHECK(within(backward, units(5, 120, comm)));
    });
}

TEST_CASE("where autograd is off, a block gives the same, and leaves nothing for backward") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeBlock whole;
        const CutBlock cut(whole, comm);
        const at::Tensor x = trained({2, 12, 5}, 9);
        const at::NoGradGuard off;
        const at::Tensor y = cut.forward(scatter_to_sequence_parallel_region(x, comm));
        CHECK(equal(y, part(whole.forward(x), 1, comm)));
        CHECK_FALSE(y.requires_grad());
        CHECK_FALSE(at::GradMode::is_enabled());
    });
}

TEST_CASE("gradients of two micro-batches add up, also of two calls before the first backward") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const bool first_comes_last : {false, true}) {
            const WholeBlock whole;
            const CutBlock cut(whole, comm);
            at::Tensor loss[2];
            for (const int i : {0, 1}) {
                const at::Tensor x = filled({1, 12, 5}, 0, 9 + static_cast<std::uint64_t>(i));
                const at::Tensor upstream = filled({1, 12, 5}, 0, 60);
                whole.forward(x).mul(upstream).sum().backward();
                loss[i] = cut.forward(part(x, 1, comm)).mul(part(upstream, 1, comm)).sum();
            }
            INFO("two calls, then backward of the " << (first_comes_last ? "second" : "first"));
            loss[first_comes_last ? 1 : 0].backward();
            loss[first_comes_last ? 0 : 1].backward();
            cut.add_up();
            cut.has_gradients_of(whole);
        }
    });
}

TEST_CASE("two blocks that are alive at a time know nothing of each other") {
    two_alive("the block", [](std::size_t which, const Communicator& comm) {
        struct State {
            WholeBlock whole;
            CutBlock cut;
            at::Tensor x, upstream, y;
        };
        const WholeBlock whole(10 * which);
        const std::int64_t tokens = 12 + 12 * static_cast<std::int64_t>(which);
        const auto state = std::make_shared<State>(State{
            whole,
            CutBlock(whole, comm),
            filled({1, tokens, 5}, 0, 9 + which),
            filled({1, tokens, 5}, 0, 60),
            {}});
        return Life{
            .calls = {
                [=, &comm] { state->y = state->cut.forward(part(state->x, 1, comm)); },
                [=, &comm] { state->y.mul(part(state->upstream, 1, comm)).sum().backward(); }},
            .outcome = [=] {
                state->whole.forward(state->x).mul(state->upstream).sum().backward();
                state->cut.add_up();
                state->cut.has_gradients_of(state->whole);
                return Comparison();
            }};
    });
}

TEST_CASE("a block takes ranks from the communicator that it is given, beside one on all ranks") {
    on_ranks({4}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const auto salt = static_cast<std::uint64_t>(10 * number);
        const Communicator group = comm.split(number, comm.rank());
        const WholeBlock for_all;
        const WholeBlock for_group(salt);
        const CutBlock all(for_all, comm);
        INFO("two groups of two ranks, each with weights of its own, within a block of all four");
        const at::Tensor loss = all.forward(part(filled({1, 12, 5}, 0, 9), 1, comm)).sum();
        trains_as_one(for_group, CutBlock(for_group, group), trained({1, 12, 5}, salt), group);
        loss.backward();
        for_all.forward(filled({1, 12, 5}, 0, 9)).sum().backward();
        all.add_up();
        all.has_gradients_of(for_all);
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    const auto x = [] { return filled({2, 12, 5}, 0, 1).requires_grad_(); };
    const auto w = [] { return filled({6, 5}, 0, 2); };
    reports_failures([&](const Communicator& comm) {
        (void)sequence_parallel_column_linear(x(), w(), {}, comm);
    });
    reports_failures([&](const Communicator& comm) {  // its last message is that of x's gradient
        sequence_parallel_column_linear(x(), w().requires_grad_(), {}, comm).sum().backward();
    });
    reports_failures([&](const Communicator& comm) {  // and here that of x
        sequence_parallel_column_linear(x().detach(), w().requires_grad_(), {}, comm)
            .sum()
            .backward();
    });
    reports_failures([&](const Communicator& comm) {
        (void)sequence_parallel_row_linear(x(), w(), {}, comm);
    });
    reports_failures([&](const Communicator& comm) {
        scatter_to_sequence_parallel_region(x(), comm).sum().backward();
    });
    reports_failures([&](const Communicator& comm) {
        const at::Tensor parameter = x();
        parameter.mutable_grad() = filled({2, 12, 5}, 0, 3);
        all_reduce_sequence_parallel_gradients({&parameter, 1}, comm);
    });
}

TEST_CASE("tokens that ranks do not divide are refused before any message, and other shapes") {
    refuses_tokens_that_ranks_do_not_divide();
    refuses_other_shapes();
}
