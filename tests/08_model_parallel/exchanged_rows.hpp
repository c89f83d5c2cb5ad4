// Rows that say where they come from: what exchange_rows() moves, and what experts are called with.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/08_model_parallel/whole_experts.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

/// How many rows rank src has for rank dst: none for some, itself among them.
inline std::int64_t rows_between(int src, int dst) {
    return (2 * src + 3 * dst + 1) % 4;
}

/// Row i from rank src to rank dst is (src, dst, i); its gradient is (src, dst, i) + 100.
inline void add_rows(std::vector<float>& rows, int src, int dst, float plus) {
    for (std::int64_t i = 0; i < rows_between(src, dst); ++i) {
        for (const auto number : {std::int64_t{src}, std::int64_t{dst}, i}) {
            rows.push_back(static_cast<float>(number) + plus);
        }
    }
}

struct RowsOf {
    RowsOf(const Communicator& comm, float plus = 0) {
        std::vector<float> out;
        std::vector<float> in;
        for (int other = 0; other < comm.size(); ++other) {
            sends.push_back(rows_between(comm.rank(), other));
            receives.push_back(rows_between(other, comm.rank()));
            add_rows(out, comm.rank(), other, plus);
            add_rows(in, other, comm.rank(), plus);
        }
        sent = filled({std::ssize(out) / 3, 3}, out);
        received = filled({std::ssize(in) / 3, 3}, in);
    }

    std::vector<std::int64_t> sends, receives;
    at::Tensor sent, received;
};

inline void exchanges_rows() {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            const RowsOf rows(comm);
            const RowsOf gradients(comm, 100);
            const at::Tensor sent = laid_out(rows.sent, layout).requires_grad_();
            const at::Tensor got = exchange_rows(sent, rows.sends, rows.receives, comm);
            got.mul(laid_out(gradients.received, layout)).sum().backward();
            INFO("row i from rank s to rank d is (s, d, i), and rows lie " << name_of(layout));
            CHECK(equal(got, rows.received));
            INFO("their gradients, on the rank that sent them: (s, d, i) + 100");
            CHECK(equal(sent.grad(), gradients.sent));
        }
        const RowsOf rows(comm);
        const at::Tensor sent = rows.sent.clone().requires_grad_();
        exchange_rows(sent, rows.sends, rows.receives, comm).sum().backward();
        INFO("the gradient of a sum: one number in memory for all");
        CHECK(equal(sent.grad(), rows.sent.mul(0).add(1)));
    });
}

inline void exchanges_rows_by_few_messages() {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const RowsOf rows(comm);
        const at::Tensor sent = rows.sent.clone().requires_grad_();
        at::Tensor got;
        const Traffic there =
            record(comm, [&] { got = exchange_rows(sent, rows.sends, rows.receives, comm); });
        const Traffic back = record(comm, [&] { got.sum().backward(); });
        const auto cost = [&](const std::vector<std::int64_t>& counts) {
            std::set<int> ranks;
            std::int64_t all = 0;
            for (int other = 0; other < comm.size(); ++other) {
                const std::int64_t n = counts[static_cast<std::size_t>(other)];
                if (other != comm.rank() && n > 0) {
                    ranks.insert(other);
                    all += n;
                }
            }
            return Cost{
                .messages_sent = exactly(std::ssize(ranks)),
                .bytes_sent = exactly(float_bytes(static_cast<std::size_t>(3 * all))),
                .sent_to = ranks};
        };
        CHECK(within(there, cost(rows.sends)));
        INFO("backward");
        CHECK(within(back, cost(rows.receives)));
        const at::Tensor detached = exchange_rows(rows.sent, rows.sends, rows.receives, comm);
        INFO("rows that need no gradient");
        CHECK_FALSE(detached.requires_grad());
    });
}

/// Experts note what they are called with: each token is (rank, position, 1).
inline void hands_tokens_to_experts(const Spread& spread, const Communicator& comm) {
    const auto token = [](int rank, std::int64_t position) {
        return std::vector<float>{static_cast<float>(rank), static_cast<float>(position), 1};
    };
    const std::int64_t local = kExperts / comm.size();
    const Share share(spread, comm.rank());
    std::vector<float> tokens;
    for (std::int64_t t = 0; t < share.x.size(0); ++t) {
        std::ranges::copy(token(comm.rank(), t), std::back_inserter(tokens));
    }
    std::vector<float> calls;
    std::vector<std::vector<float>> got(static_cast<std::size_t>(local));
    const auto note = [&](std::int64_t expert, const at::Tensor& rows) {
        calls.push_back(static_cast<float>(expert));
        got.at(static_cast<std::size_t>(expert)) = elements(rows);
        return rows;
    };
    (void)expert_parallel(filled({share.x.size(0), kWidth}, tokens), share.routing, note, comm);
    std::vector<float> in_order;
    for (std::int64_t e = 0; e < local; ++e) {
        in_order.push_back(static_cast<float>(e));
        std::vector<float> expected;
        for (int rank = 0; rank < comm.size(); ++rank) {
            for (const std::int64_t t : Share(spread, rank).tokens_for(comm.rank() * local + e)) {
                std::ranges::copy(token(rank, t), std::back_inserter(expected));
            }
        }
        INFO(
            "expert " << comm.rank() * local + e
                      << ": its tokens are (rank, position, 1), three numbers each"
        );
        CHECK(same(got[static_cast<std::size_t>(e)], expected));
    }
    INFO("which of this rank's experts are called, and in which order");
    CHECK(same(calls, in_order));
}

inline void refuses_rows(const Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    const std::vector<std::int64_t> one_each(p, 1);
    const at::Tensor rows = filled({comm.size(), 2}, comm.rank(), 1);
    const auto calls = [&](const char* what, const at::Tensor& of,
                           const std::vector<std::int64_t>& sends,
                           const std::vector<std::int64_t>& receives) {
        refuses(
            comm, what, [&] { (void)exchange_rows(of, sends, receives, comm); }, as_now({rows})
        );
    };
    const std::vector<std::int64_t> too_many(p + 1, 1);
    std::vector<std::int64_t> negative(p, 1);
    negative[0] = 3;
    negative[1] = -1;
    calls("a row more than is sent", filled({comm.size() + 1, 2}, 0, 1), one_each, one_each);
    calls("p + 1 numbers to send", filled({comm.size() + 1, 2}, 0, 1), too_many, one_each);
    calls("p + 1 numbers to receive", rows, one_each, too_many);
    calls("a negative number of rows to send", rows, negative, one_each);
    calls("a negative number of rows to receive", rows, one_each, negative);
}

}  // namespace dist::harness
