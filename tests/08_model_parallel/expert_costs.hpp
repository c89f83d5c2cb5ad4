// What expert_parallel() may send: counts in forward, and rows there and back in forward and in
// backward.
#pragma once

#include "tests/08_model_parallel/whole_experts.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// The cost of one exchange there and one back, on top of these messages and floats. Each rank sends
/// as many results as it receives rows: it sends and receives the same amount.
inline Cost two_exchanges(
    const Spread& spread, const Communicator& comm, long messages, long floats
) {
    const std::int64_t local = kExperts / comm.size();
    for (int other = 0; other < comm.size(); ++other) {
        if (other == comm.rank()) {
            continue;
        }
        const auto rows = [&](int src, int dst) {
            long n = 0;
            for (std::int64_t e = dst * local; e < (dst + 1) * local; ++e) {
                n += std::ssize(Share(spread, src).tokens_for(e));
            }
            return n;
        };
        const long there = rows(comm.rank(), other);
        const long back = rows(other, comm.rank());
        messages += (there > 0 ? 1 : 0) + (back > 0 ? 1 : 0);
        floats += (there + back) * kWidth;
    }
    const long bytes = float_bytes(static_cast<std::size_t>(floats));
    return {
        .messages_sent = exactly(messages),
        .bytes_sent = exactly(bytes),
        .messages_received = exactly(messages),
        .bytes_received = exactly(bytes)};
}

inline void costs_two_exchanges() {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Spread& spread : kSpreads) {
            const WholeExperts whole(spread, comm.size());
            const OwnExperts own(spread, whole, comm);
            at::Tensor loss;
            const Traffic there = record(comm, [&] { loss = loss_of(own.forward(comm)); });
            const Traffic back = record(comm, [&] { loss.backward(); });
            const long others = comm.size() - 1;
            INFO(spread.name);
            {
                INFO("forward: E / p counts to each rank, its rows there, others' rows back");
                CHECK(within(
                    there, two_exchanges(spread, comm, others, others * (kExperts / comm.size()))
                ));
            }
            INFO("backward: the gradients go where results came from, and those of tokens back");
            CHECK(within(back, two_exchanges(spread, comm, 0, 0)));
        }
    });
}

inline void costs_one_exchange_without_gradient_of_x() {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Spread spread;
        const WholeExperts whole(spread, comm.size());
        whole.backward();
        const OwnExperts own(spread, whole, comm);
        at::Tensor loss;
        const auto forward = [&] {
            const at::Tensor y =
                expert_parallel(own.share.x.detach(), own.share.routing, own.experts(), comm);
            loss = loss_of(y, static_cast<std::uint64_t>(comm.rank()));
        };
        const Traffic there = record(comm, forward);
        const Traffic back = record(comm, [&] { loss.backward(); });
        CHECK(equal(own.w.grad(), part(whole.w.grad(), 0, comm)));
        const long rows_to_others = back.bytes_sent + back.bytes_received;
        const long counts = 2L * (comm.size() - 1) * float_bytes(kExperts) / comm.size();
        INFO("forward without its counts is two exchanges, of which each goes one way");
        CHECK(2 * rows_to_others == there.bytes_sent + there.bytes_received - counts);
    });
}

}  // namespace dist::harness
