// One table of words for two stages: the first looks words up in it, the last multiplies by it.
#pragma once

#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// Words, layers, and the table again. One process has one table; each end of a pipeline a copy.
inline StagedModel tied_model(int stages, bool one_table) {
    const at::Tensor table = filled({5, 4}, 0, 9).sign().requires_grad_();
    const at::Tensor copy = one_table ? table : table.detach().clone().requires_grad_();
    StagedModel model{.stages = {}, .words = 5};
    model.stages.push_back(
        {[=](const at::Tensor& words) { return table.index_select(0, words); }, {3}, {table}}
    );
    for (int k = 1; k + 1 < stages; ++k) {
        model.stages.push_back(whole(4, static_cast<std::uint64_t>(k)));
    }
    model.stages.push_back(
        {[=](const at::Tensor& x) { return at::linear(x, copy); }, {3, 4}, {copy}}
    );
    return model;
}

/// Two runs, and then one sum over the two ends.
inline void ties_both_ends(const Communicator& comm) {
    const int p = comm.size();
    const bool is_end = comm.rank() == 0 || comm.rank() == p - 1;
    const Communicator ends = comm.split(is_end ? 0 : 1, comm.rank());
    const StagedModel mine = tied_model(std::max(p, 2), p == 1);
    const StagedModel alone = tied_model(std::max(p, 2), true);
    const Schedule rows = rows_of({ScheduleKind::interleaved, p, 4, p == 1 ? 2 : 1});
    for (int run = 0; run < 2; ++run) {
        (void)mine.train(rows, 4, comm);
        (void)alone.train_alone(in_order(4), 4);
    }
    const at::Tensor table =
        (comm.rank() == 0 ? mine.stages.front() : mine.stages.back()).leaves[0];
    const at::Tensor own = is_end ? table.grad().clone() : at::Tensor();
    const Traffic traffic = record(comm, [&] {
        if (is_end) {
            all_reduce_tied_gradient(table, ends);
        }
    });
    if (is_end) {
        const at::Tensor whole = alone.stages[0].leaves[0].grad();
        CHECK(identical(
            table.grad(), whole,
            {{own, "that is what this rank's stages have found"},
             {whole.div(2), "that is the mean of both ends"}}
        ));
    }
    const long messages = is_end && p > 1 ? 2 : 0;
    INFO("one ring all-reduce of the table's 20 floats");
    CHECK(
        within(traffic, {.messages_sent = exactly(messages), .bytes_sent = exactly(messages * 40)})
    );
}

/// A gradient in any layout, or none; a weight that needs none.
inline void adds_up_any_gradient(const Communicator& comm) {
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
        const at::Tensor weight = laid_out(filled({4, 3}, 0, 1), layout).requires_grad_();
        at::Tensor expected = at::zeros_like(weight);
        for (int rank = 0; rank < comm.size(); ++rank) {
            if (rank != 1) {
                expected.add_(filled({4, 3}, rank, 2));
            }
        }
        if (comm.rank() != 1) {
            weight.mutable_grad() = laid_out(filled({4, 3}, comm.rank(), 2), layout);
        }
        const auto as_before = as_now({weight.detach()});
        all_reduce_tied_gradient(weight, comm);
        INFO("gradients lie " << name_of(layout) << ", and rank 1 has none");
        CHECK(identical(weight.grad(), expected));
        const Comparison unchanged = as_before();
        CHECK(unchanged);
    }
    const at::Tensor frozen = filled({4, 3}, 0, 1);
    const Traffic traffic = record(comm, [&] { all_reduce_tied_gradient(frozen, comm); });
    INFO("a weight that requires no gradient");
    CHECK(traffic.messages_sent == 0);
    CHECK_FALSE(frozen.grad().defined());
}

}  // namespace dist::harness
