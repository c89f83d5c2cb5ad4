// What sequence_parallel must do: compute as one process does, with a t-th of the tokens on each rank between layers.
#include "exercises/08_model_parallel/sequence_parallel.hpp"

#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/08_model_parallel/seed_generator.hpp"
#include "tests/08_model_parallel/when_computed.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Which of 64 ones dropout leaves.
at::Tensor mask() {
    return at::dropout(at::ones({64}), 0.5, /*train=*/true).sign();
}

at::Tensor mask_of_own(const Communicator& comm) {
    const ShardedRandom random(comm);
    return mask();
}

/// Whether a call costs so many all-gathers or reduce-scatters of n floats, which p divides.
Comparison costs(
    long units, std::int64_t n, const Communicator& comm, const std::function<void()>& call
) {
    const Traffic traffic = record(comm, call);
    const long messages = units * (comm.size() - 1);
    const long bytes = messages * float_bytes(n) / comm.size();
    // messages without data may be left out
    return n == 0 ? Comparison()
                  : within(
                        traffic, {.messages_sent = exactly(messages), .bytes_sent = exactly(bytes)}
                    );
}

/// A tensor of whole numbers that each rank may have for itself.
struct Whole {
    [[nodiscard]] at::Tensor of(int rank, std::uint64_t salt) const {
        return laid_out(filled(shape, rank, salt), layout);
    }
    [[nodiscard]] std::int64_t n() const { return of(0, 0).numel(); }
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

/// A column layer of 7 columns and 12 rows, and five tokens on each rank; words from rank to rank, beside its messages.
struct Watched {
    explicit Watched(const Communicator& ranks)
        : comm(ranks),
          words(ranks.split(0, ranks.rank())),
          whole(filled({12, 7}, 0, 1)),
          column(whole, {}, ranks),
          x(filled({1, 5, 7}, ranks.rank(), 2).requires_grad_()),
          y(sequence_parallel_column_linear(x, column.weight, {}, ranks)) {}

    void tell(int rank) const { MPI_Send("", 1, MPI_CHAR, rank, 0, words.handle()); }
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

    /// Backward, and f when the gradient of all tokens has been computed, or that of the weight.
    void backward(bool of_weight, const std::function<void()>& f) const {
        const std::int64_t all = comm.size() * x.numel();
        const std::int64_t w = column.weight.numel();
        const WhenComputed computed(of_weight ? all : w, of_weight ? w : all, f);
        y.sum().backward();
        CHECK(equal(x.grad(), whole.sum(0).expand({1, 5, 7})));
        CHECK(computed.happened());
    }

    const Communicator& comm;
    Communicator words;
    at::Tensor whole;
    ColumnParallelLinear column;
    at::Tensor x, y;
};

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

}  // namespace

TEST_CASE("gather gives all tokens in order, and adds up what the ranks find of their gradient") {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        for (const bool alike : {false, true}) {
            const at::Tensor x = part(whole.of(0, 1), 1, comm).requires_grad_();
            const at::Tensor upstream = whole.of(alike ? 0 : comm.rank(), 2);
            const at::Tensor own = part(upstream, 1, comm);
            INFO(
                (alike ? "all ranks do the same with all tokens, so nobody sends in backward"
                       : "each rank goes on in its own way, and has a part of each gradient")
            );
            at::Tensor y;
            const Comparison there = costs(1, whole.n(), comm, [&] {
                y = gather_from_sequence_parallel_region(
                    x, comm, alike ? Placement::replicate() : Placement::partial()
                );
            });
            CHECK(equal(y, whole.of(0, 1)));
            CHECK(there);
            const Comparison back =
                costs(alike ? 0 : 1, whole.n(), comm, [&] { y.backward(upstream); });
            CHECK(equal(
                x.grad(), alike ? own : part(whole.sum(2, comm), 1, comm),
                {{own, "that is what this rank has found of it alone"},
                 {own.mul(comm.size()), "that is the same gradient, once for each rank"}}
            ));
            CHECK(back);
        }
    });
}

TEST_CASE(
    "scatter gives this rank's tokens of what all have, reduce-scatter of the sum; back come all"
) {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        for (const bool adds_up : {false, true}) {
            INFO((adds_up ? "reduce-scatter: each rank has a summand" : "scatter: all have x"));
            const at::Tensor x = whole.of(adds_up ? comm.rank() : 0, 1).requires_grad_();
            const auto kept = as_now({x});
            at::Tensor y;
            const Comparison there = costs(adds_up ? 1 : 0, whole.n(), comm, [&] {
                y = adds_up ? reduce_scatter_to_sequence_parallel_region(x, comm)
                            : scatter_to_sequence_parallel_region(x, comm);
            });
            CHECK(kept());
            CHECK(equal(y, part(adds_up ? whole.sum(1, comm) : x, 1, comm)));
            CHECK(there);
            const at::Tensor upstream = part(whole.of(0, 2), 1, comm);
            const Comparison back = costs(1, whole.n(), comm, [&] { y.backward(upstream); });
            INFO("all of x counts: is the gradient 0 where another rank has the token?");
            CHECK(equal(x.grad(), whole.of(0, 2)));
            CHECK(back);
        }
    });
}

TEST_CASE("a row-parallel layer adds its bias once, to the tokens that a rank keeps, for 1 unit") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const bool biased : {true, false}) {
            const at::Tensor w = filled({7, 24}, 0, 1).requires_grad_();
            const at::Tensor b = biased ? filled({7}, 0, 2).requires_grad_() : at::Tensor();
            const RowParallelLinear row(w, b, comm);
            const at::Tensor h = filled({2, 12, 24}, 0, 3).requires_grad_();
            const at::Tensor own = part(h, -1, comm).requires_grad_();
            const at::Tensor upstream = filled({2, 12, 7}, 0, 4);
            at::linear(h, w, b).backward(upstream);
            at::Tensor y;
            CHECK(costs(1, 168, comm, [&] {
                y = sequence_parallel_row_linear(own, row.weight, row.bias, comm);
            }));
            const at::Tensor sum = part(at::linear(h, w), 1, comm);
            const at::Tensor added = biased ? b : at::zeros({7});
            INFO((biased ? "with a bias" : "without a bias"));
            CHECK(equal(
                y, sum.add(added),
                {{sum, "that is the sum without the bias"},
                 {sum.add(added, comm.size()),
                  "the bias is in it once for each rank: add it behind the reduction"}}
            ));
            CHECK(costs(1, 168, comm, [&] { y.backward(part(upstream, 1, comm)); }));
            CHECK(equal(own.grad(), part(h.grad(), -1, comm)));
            CHECK(equal(row.weight.grad(), part(w.grad(), 1, comm)));
        }
    });
}

TEST_CASE("a column-parallel layer gives its columns of all tokens, in any layout") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Layout layout : kLayouts) {
            for (const bool biased : {true, false}) {
                const at::Tensor w = filled({24, 5}, 0, 1).requires_grad_();
                const at::Tensor b = biased ? filled({24}, 0, 2).requires_grad_() : at::Tensor();
                const ColumnParallelLinear column(w, b, comm);
                const at::Tensor x = laid_out(filled({2, 12, 5}, 0, 3), layout).requires_grad_();
                const at::Tensor upstream = laid_out(filled({2, 12, 24}, 0, 4), layout);
                const at::Tensor expected = at::linear(x, w, b);
                expected.backward(upstream);
                const at::Tensor own = part(x, 1, comm).requires_grad_();
                const at::Tensor y =
                    sequence_parallel_column_linear(own, column.weight, column.bias, comm);
                INFO((biased ? "with a bias" : "without a bias"));
                INFO("this rank's tokens and the gradient of its columns lie " << name_of(layout));
                CHECK(equal(y, part(expected, -1, comm)));
                y.backward(part(upstream, -1, comm));
                CHECK(equal(own.grad(), part(x.grad(), 1, comm)));
                INFO("the gradient of the weight");
                CHECK(equal(column.weight.grad(), part(w.grad(), 0, comm)));
            }
        }
    });
}

TEST_CASE("a column-parallel layer costs 1 unit, and back 2, or less where no gradient is needed") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const auto& [trains_x, trains_w] :
             {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
            const at::Tensor x = filled({2, 4, 5}, comm.rank(), 1).requires_grad_(trains_x);
            const at::Tensor w = filled({6, 5}, comm.rank(), 2).requires_grad_(trains_w);
            const at::Tensor b = filled({6}, comm.rank(), 3).requires_grad_();
            const long n = 40L * comm.size();
            at::Tensor y;
            CHECK(costs(1, n, comm, [&] { y = sequence_parallel_column_linear(x, w, b, comm); }));
            INFO((trains_x ? "x needs a gradient: one reduce-scatter" : "x needs none"));
            INFO(
                (trains_w ? "the weight needs a gradient: one all-gather. Is x of all tokens kept?"
                          : "the weight needs none")
            );
            const long units = (trains_x ? 1 : 0) + (trains_w ? 1 : 0);
            CHECK(costs(units, n, comm, [&] { y.sum().backward(); }));
            CHECK(x.grad().defined() == trains_x);
            CHECK(w.grad().defined() == trains_w);
            CHECK(b.grad().defined());
        }
    });
}

TEST_CASE("layers on two communicators have the gradients of one process, in either order") {
    on_ranks({4, 1, 2, 3}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, comm.rank());
        const Communicator* const comms[] = {&comm, &group};
        for (const int first : {0, 1}) {
            at::Tensor x[2], w[2], own_x[2], own_w[2], y[2];
            for (const int i : {0, 1}) {
                x[i] = filled({2, 12, 5}, 0, i * (1 + number)).requires_grad_();
                w[i] = filled({12, 5}, 0, 3 + i * (1 + number)).requires_grad_();
                at::linear(x[i], w[i]).sum().backward();
                own_x[i] = part(x[i], 1, *comms[i]).requires_grad_();
                own_w[i] = part(w[i], 0, *comms[i]).requires_grad_();
                y[i] = sequence_parallel_column_linear(own_x[i], own_w[i], {}, *comms[i]);
            }
            y[first].sum().backward();
            y[1 - first].sum().backward();
            for (const int i : {0, 1}) {
                INFO((i == 0 ? "the layer of all ranks" : "that of every second rank, within it"));
                CHECK(equal(own_x[i].grad(), part(x[i].grad(), 1, *comms[i])));
                INFO("the gradient of the weight (two exchanges at a time on one communicator mix)"
                );
                CHECK(equal(own_w[i].grad(), part(w[i].grad(), 0, *comms[i])));
            }
        }
    });
}

TEST_CASE("from forward to backward each function holds its result alone: no tokens of others") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const auto p = static_cast<std::size_t>(comm.size());
        // 1, 2, 3 and 4 divide the tokens, and this is more than a thread's stack may hold unseen.
        const at::Tensor x = filled({2, 480, 32}, comm.rank(), 1).requires_grad_();
        const std::size_t all = x.nbytes();
        const std::size_t own = all / p;
        const at::Tensor tokens = part(x, 1, comm).clone().requires_grad_();
        const at::Tensor w = filled({96 / comm.size(), 32}, 0, 2).requires_grad_();
        const at::Tensor rows = filled({24, 32}, 0, 3).requires_grad_();
        const at::Tensor bias = filled({96 / comm.size()}, 0, 4).requires_grad_();
        const auto holds = [&](const char* what, std::size_t bytes,
                               const std::vector<ByteSuspicion>& too_many,
                               const std::function<at::Tensor()>& call) {
            const MemoryBefore before;
            const at::Tensor result = call();
            INFO("bytes that are there after " << what << ", and were not before it");
            CHECK(same_bytes(before.tensors_since(), bytes, {}, too_many));
            CHECK(before.nothing_beside());
        };
        const ByteSuspicion view = {
            all - own, "the result is a view of the whole, which lives as long as it does"};
        const ByteSuspicion kept = {
            all, "that is x of all tokens: keep this rank's, and gather in backward"};
        holds("scatter_to_sequence_parallel_region", own, {view}, [&] {
            return scatter_to_sequence_parallel_region(x, comm);
        });
        holds("reduce_scatter_to_sequence_parallel_region", own, {view}, [&] {
            return reduce_scatter_to_sequence_parallel_region(x, comm);
        });
        holds("sequence_parallel_column_linear", all * 3 / p, {kept}, [&] {
            return sequence_parallel_column_linear(tokens, w, bias, comm);
        });
        holds("sequence_parallel_row_linear", own * 24 / 32, {}, [&] {
            return sequence_parallel_row_linear(x, rows, {}, comm);
        });
    });
}

TEST_CASE("x is gathered again while the gradient of x is computed, and nobody waits") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks begin backward when rank 0 has computed the gradient of x, and rank 0 "
            "goes on when they have the weight's, for which they need its tokens: so it has to "
            "begin the all-gather before that product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            it.backward(false, [&] { it.others_go_on(); });
        } else {
            it.y.register_hook([&](const at::Tensor& /*gradient*/) { it.hear(0); });
            it.backward(true, [&] { it.tell(0); });
        }
    });
}

TEST_CASE("the gradient of x is added up while the weight's is computed, and nobody waits") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks send the gradient of x when rank 0 has computed the weight's, and "
            "rank 0 goes on when they have theirs: so it has to begin the reduce-scatter before "
            "that product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            it.backward(true, [&] { it.others_go_on(); });
        } else {
            it.x.register_hook([&](const at::Tensor& /*gradient*/) { it.tell(0); });
            it.backward(false, [&] { it.hear(0); });
        }
    });
}

TEST_CASE("gradients of what every rank has are added up in place, all in one all-reduce") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            std::vector<at::Tensor> parameters;
            std::vector<at::Tensor> gradients;
            for (const auto& shape : kShapes) {  // one with a gradient, and one without
                gradients.push_back(Whole{shape, layout}.of(comm.rank(), gradients.size()));
                parameters.push_back(filled(shape, 0, 1).requires_grad_());
                parameters.back().mutable_grad() = gradients.back();
                parameters.push_back(filled({3}, 0, 1).requires_grad_());
            }
            const Traffic traffic =
                record(comm, [&] { all_reduce_sequence_parallel_gradients(parameters, comm); });
            INFO("gradients lie " << name_of(layout));
            for (std::size_t i = 0; i < gradients.size(); ++i) {
                const Whole whole{kShapes[i]};
                INFO("a parameter of shape " << at::IntArrayRef(whole.shape));
                const at::Tensor sum = whole.sum(i, comm);
                CHECK(equal(
                    gradients[i], sum,
                    {{sum.div(comm.size()), "that is their mean: each rank has seen other tokens"},
                     {whole.of(comm.rank(), i), "that is what this rank's tokens gave alone"}}
                ));
                INFO("the gradient has to stay where it is: it may be a view of something larger");
                CHECK(parameters[2 * i].grad().is_same(gradients[i]));
                INFO("a parameter between the others has no gradient, and gets none");
                CHECK_FALSE(parameters[2 * i + 1].grad().defined());
            }
            INFO("50 floats in all, in one all-reduce: as many messages as for a single parameter");
            const long messages = 2L * (comm.size() - 1);
            CHECK(within(
                traffic, {.messages_sent = exactly(messages),
                          .bytes_sent = at_most(messages * 4 * ceil_div(50, comm.size()))}
            ));
        }
        INFO("no parameter has a gradient");
        const at::Tensor frozen = filled({3}, 0, 1);
        all_reduce_sequence_parallel_gradients({&frozen, 1}, comm);
        CHECK_FALSE(frozen.grad().defined());
    });
}

TEST_CASE(
    "dropout differs on each rank in a scope and from scope to scope, and comes again by recompute"
) {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        seed_generator(seed());
        std::vector<std::pair<std::string, at::Tensor>> masks = {{"before the scopes", mask()}};
        for (const char* const which : {"a first", "a second"}) {  // one right behind the other
            const at::Tensor rows = at::ones({comm.size(), 64});
            rows[comm.rank()].copy_(mask_of_own(comm));
            ring_all_gather(nn::floats(rows), comm);
            for (int rank = 0; rank < comm.size(); ++rank) {
                masks.emplace_back(text("in ", which, " scope, on rank ", rank), rows[rank]);
            }
        }
        masks.emplace_back("behind the scopes", mask());
        for (std::size_t i = 0; i < masks.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                INFO(masks[j].first << ", and " << masks[i].first << ": the same mask of 64");
                CHECK_FALSE(masks[i].second.equal(masks[j].second));
            }
        }
        seed_generator(seed());
        (void)mask();
        INFO("the generator is where it was before the first scope: the same numbers in it again");
        CHECK(identical(mask_of_own(comm), masks[1 + comm.rank()].second));
    });
}

TEST_CASE("after a scope all ranks draw the same, however many numbers each has drawn in it") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const auto after = [&](std::int64_t numbers, bool throws) {
            seed_generator(seed());
            at::randn({1});  // the generator keeps a second one for the next call
            try {
                const ShardedRandom random(comm);
                at::randn({numbers});
                if (throws) {
                    throw std::runtime_error("a layer");
                }
            } catch (const std::runtime_error&) {
            }
            return at::randn({5});
        };
        const at::Tensor expected = after(0, false);
        INFO("random numbers after a scope: each rank has to have the same, whatever it has drawn");
        CHECK(same_on_all_ranks(nn::floats(expected), comm));
        CHECK(identical(after(2 * comm.rank() + 1, false), expected));
        INFO("the scope was left by an exception");
        CHECK(identical(after(3, true), expected));
    });
}

TEST_CASE("a message that fails comes out of backward") {
    for (const bool trains_x : {true, false}) {  // the last message is its gradient's, or x
        reports_failures([&](const Communicator& comm) {
            const at::Tensor x = filled({2, 12, 5}, 0, 1).requires_grad_(trains_x);
            const at::Tensor w = filled({6, 5}, 0, 2).requires_grad_();
            sequence_parallel_column_linear(x, w, {}, comm).sum().backward();
        });
    }
    reports_failures([](const Communicator& comm) {
        const at::Tensor parameter = filled({2, 12, 5}, 0, 1).requires_grad_();
        parameter.mutable_grad() = filled({2, 12, 5}, 0, 3);
        all_reduce_sequence_parallel_gradients({&parameter, 1}, comm);
    });
}

TEST_CASE("tokens that ranks do not divide are refused before any message, and other shapes") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const at::Tensor w = filled({6, 5}, 0, 2);
        const auto refused = [&](const std::string& what, at::IntArrayRef shape,
                                 const std::function<void(const at::Tensor&)>& call) {
            const at::Tensor x = filled(shape, 0, 1);
            refuses(
                comm, text(what, ", x of shape ", shape), [&] { call(x); }, as_now({x, w})
            );
        };
        for (const auto& [what, layer] :
             {std::pair("a column layer", &sequence_parallel_column_linear),
              std::pair("a row layer", &sequence_parallel_row_linear)}) {
            const auto call = [&, layer = layer](const at::Tensor& x) { layer(x, w, {}, comm); };
            refused(text(what, " of 5 columns"), {2, 12, 6}, call);
            refused(text(what, " of tokens in two dimensions"), {12, 5}, call);
            refused(text(what, " of tokens in four dimensions"), {2, 2, 12, 5}, call);
        }
        for (const auto& [what, region] :
             {std::pair("scatter", &scatter_to_sequence_parallel_region),
              std::pair("reduce-scatter", &reduce_scatter_to_sequence_parallel_region)}) {
            const auto call = [&, region = region](const at::Tensor& x) { region(x, comm); };
            refused(text(what, " of one dimension"), {6}, call);
            if (comm.size() > 1) {
                refused(text(what, " of 25 tokens"), {2, 25, 5}, call);
            }
        }
        refused("gather of one dimension", {6}, [&](const at::Tensor& x) {
            gather_from_sequence_parallel_region(x, comm);
        });
        refused("gather with a gradient that is a shard", {2, 12, 5}, [&](const at::Tensor& x) {
            gather_from_sequence_parallel_region(x, comm, Placement::shard(1));
        });
    });
}
