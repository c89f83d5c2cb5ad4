// The three ways between tokens of one rank and tokens of all: what comes out, what goes back, and what it costs.
#pragma once

#include <functional>
#include <vector>

#include "tests/08_model_parallel/whole_block.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// So many all-gathers or reduce-scatters of n floats, which p divides.
inline Cost units(long count, std::int64_t n, const Communicator& comm) {
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
inline void for_wholes(const std::function<void(const Whole&, const Communicator&)>& f) {
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

inline void gather_adds_up_in_backward() {
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

inline void gather_may_take_its_part_in_backward() {
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

inline void reduce_scatter_gathers_in_backward() {
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

inline void scatter_gathers_in_backward() {
    for_wholes([](const Whole& whole, const Communicator& comm) {
        const at::Tensor x = whole.of(0, 1).requires_grad_();
        const at::Tensor y = scatter_to_sequence_parallel_region(x, comm);
        CHECK(equal(y, part(x, 1, comm)));
        y.backward(part(whole.of(0, 2), 1, comm));
        INFO("every rank has all of x: is the gradient 0 where another rank has the token?");
        CHECK(equal(x.grad(), whole.of(0, 2)));
    });
}

inline void regions_cost_a_unit() {
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

}  // namespace dist::harness
