// What sequence_parallel must do: compute as one process does, where each rank keeps a t-th of the tokens between cut
// layers, and send what the header says.
#include "exercises/08_model_parallel/sequence_parallel.hpp"

#include <c10/core/GradMode.h>
#include <memory>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/recompute.hpp"
#include "tests/08_model_parallel/added_up_gradients.hpp"
#include "tests/08_model_parallel/overlapped_gather.hpp"
#include "tests/08_model_parallel/sequence_memory.hpp"
#include "tests/08_model_parallel/sequence_refusals.hpp"
#include "tests/08_model_parallel/sequence_regions.hpp"
#include "tests/08_model_parallel/sharded_random.hpp"
#include "tests/08_model_parallel/whole_block.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

}  // namespace

TEST_CASE("gather gives all tokens in order, and adds up what the ranks find of their gradient") {
    gather_adds_up_in_backward();
}

TEST_CASE("where all ranks do the same with all tokens, gather's gradient is there: nobody sends") {
    gather_may_take_its_part_in_backward();
}

TEST_CASE("reduce-scatter gives this rank's tokens of the sum, and each summand all of the gradient"
) {
    reduce_scatter_gathers_in_backward();
}

TEST_CASE("scatter gives this rank's tokens of what all have, and all of them the whole gradient") {
    scatter_gathers_in_backward();
}

TEST_CASE("each way costs one all-gather or reduce-scatter, or nothing, there and back") {
    regions_cost_a_unit();
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
    functions_hold_their_results();
}

TEST_CASE("a block with norm and dropout holds a t-th of what one process holds, to the byte") {
    block_holds_a_share();
}

TEST_CASE("x is gathered again while the gradient of x is computed, and nobody waits") {
    gathers_while_it_computes();
}

TEST_CASE("the gradient of x is added up while the weight's is computed, and nobody waits") {
    scatters_while_it_computes();
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
    masks_differ_where_cut();
}

TEST_CASE("after a scope all ranks draw the same, however many numbers each has drawn in it") {
    common_numbers_go_on();
}

TEST_CASE("a scope has the same numbers again when the generator is brought back, as by recompute"
) {
    masks_come_again();
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
    reports_messages_that_fail();
}

TEST_CASE("tokens that ranks do not divide are refused before any message, and other shapes") {
    refuses_tokens_that_ranks_do_not_divide();
    refuses_other_shapes();
}
