// What sequence parallel functions refuse, and what they report.
#pragma once

#include <c10/core/GradMode.h>
#include <string>
#include <vector>

#include "tests/08_model_parallel/whole_block.hpp"
#include "tests/harness/words/refusals.hpp"

namespace dist::harness {

inline void refuses_tokens_that_ranks_do_not_divide() {
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

inline void refuses_other_shapes() {
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

inline void reports_messages_that_fail() {
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

}  // namespace dist::harness
