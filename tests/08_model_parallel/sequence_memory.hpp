// What sequence parallel layers hold from forward to backward: tokens of one rank, where nothing is cut.
#pragma once

#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <string>

#include "tests/08_model_parallel/whole_block.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/memory.hpp"

namespace dist::harness {

/// B, T and width of what is measured: 1, 2, 3 and 4 divide T, and it is more than a thread's stack may hold unseen.
inline const std::vector<std::int64_t> kMeasured = {2, 480, 32};

inline std::size_t float_bytes_of(at::IntArrayRef shape) {
    std::size_t bytes = sizeof(float);
    for (const std::int64_t size : shape) {
        bytes *= static_cast<std::size_t>(size);
    }
    return bytes;
}

/// What would be held too much if the whole of x were kept in the place of this rank's tokens.
inline ByteSuspicion whole_kept(std::size_t whole_bytes, const Communicator& comm) {
    const std::size_t shard = whole_bytes / static_cast<std::size_t>(comm.size());
    return {
        whole_bytes - shard,
        "that is x of all tokens, in the place of this rank's: gather them again in backward"};
}

/// Each function holds what it returns, and no more.
inline void functions_hold_their_results() {
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

/// A block with a norm, GELU and dropout, as one process has it, and cut: t ranks hold a t-th each.
inline void block_holds_a_share() {
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

}  // namespace dist::harness
