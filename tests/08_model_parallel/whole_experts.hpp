// Tokens, their routings and experts, which every rank can make for all; and one process that has
// them all. All numbers are whole, and so small that sums are exact in any order.
#pragma once

#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/expert_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

inline constexpr std::int64_t kExperts = 12;  // 1, 2, 3 and 4 divide it
inline constexpr std::int64_t kWidth = 3;

/// How tokens are spread.
struct Spread {
    std::string name;
    std::int64_t k = 2;
    std::vector<std::int64_t> tokens = {5, 0, 7, 3};  // of each rank
    std::int64_t chosen = kExperts;                   // experts from this number on get none
    bool drops = true;                                // each fourth choice
    Layout layout = Layout::contiguous;               // of x
    std::uint64_t salt = 0;
};

inline const std::vector<Spread> kSpreads = {
    {.name = "k = 2, other numbers of tokens on each rank, none on rank 1, some dropped"},
    {.name = "k = 1, rank 0 has no token", .k = 1, .tokens = {0, 6, 1, 9}},
    {.name = "k = 2, all go to experts 0 and 1", .tokens = {4, 5, 0, 6}, .chosen = 2},
    {.name = "k = 3, nothing is dropped", .k = 3, .tokens = {8, 1, 2, 5}, .drops = false},
    {.name = "no rank has a token", .tokens = {0, 0, 0, 0}}};

/// One rank's tokens and where they go. Leaves: x and the weights of the choices.
struct Share {
    Share(const Spread& spread, int rank) {
        const std::int64_t n = spread.tokens[static_cast<std::size_t>(rank)];
        x = laid_out(filled({n, kWidth}, rank, spread.salt + 1), spread.layout).requires_grad_();
        routing.probabilities = at::zeros({n, kExperts});
        routing.experts = at::zeros({n, spread.k}, at::kLong);
        routing.kept = at::zeros({n, spread.k}, at::kBool);
        routing.weights = at::zeros({n, spread.k});
        for (std::int64_t t = 0; t < n; ++t) {
            const auto first = 5 * t + 3 * rank + static_cast<std::int64_t>(spread.salt);
            for (std::int64_t j = 0; j < spread.k; ++j) {
                const std::int64_t number = t * spread.k + j;
                routing.experts[t][j] =
                    (first + j * (t % 2 == 0 ? 1 : -1) + kExperts) % spread.chosen;
                routing.kept[t][j] = !spread.drops || (number + rank) % 4 != 2;
                routing.weights[t][j] = 1 + (number + rank) % 3;
            }
        }
        routing.weights.requires_grad_();
    }

    /// (T): what an expert's result counts in each token; `weights` may be others.
    [[nodiscard]] at::Tensor weight_of(std::int64_t expert, const at::Tensor& weights) const {
        return weights.mul(routing.experts.eq(expert).logical_and(routing.kept)).sum(-1);
    }

    /// The tokens that go to an expert, in their order.
    [[nodiscard]] std::vector<std::int64_t> tokens_for(std::int64_t expert) const {
        const at::Tensor goes = routing.experts.eq(expert).logical_and(routing.kept).any(-1);
        std::vector<std::int64_t> tokens;
        for (std::int64_t t = 0; t < goes.numel(); ++t) {
            if (goes[t].item<bool>()) {
                tokens.push_back(t);
            }
        }
        return tokens;
    }

    at::Tensor x;
    Routing routing;
};

/// One rank's share, for experts that are there as a whole.
inline at::Tensor one_expert(const at::Tensor& w, const at::Tensor& tokens) {
    return at::relu(tokens.mm(w.t()));
}

/// All tokens and all experts on one process: every expert sees every token, most weights are 0.
struct WholeExperts {
    WholeExperts(const Spread& spread, int p)
        : w(filled({kExperts, kWidth, kWidth}, 0, spread.salt + 2).requires_grad_()) {
        for (int rank = 0; rank < p; ++rank) {
            shares.emplace_back(spread, rank);
        }
    }

    /// The output for one rank's tokens; `weights` in the place of the routing's own.
    [[nodiscard]] at::Tensor forward(int rank, const at::Tensor& weights) const {
        const Share& share = shares[static_cast<std::size_t>(rank)];
        at::Tensor y = at::zeros(share.x.sizes());
        for (std::int64_t e = 0; e < kExperts; ++e) {
            y = y.add(one_expert(w[e], share.x).mul(share.weight_of(e, weights).unsqueeze(-1)));
        }
        return y;
    }
    [[nodiscard]] at::Tensor forward(int rank) const {
        return forward(rank, shares[static_cast<std::size_t>(rank)].routing.weights);
    }

    /// Of the sum of all ranks' losses.
    void backward() const {
        for (int rank = 0; rank < static_cast<int>(shares.size()); ++rank) {
            loss_of(forward(rank), static_cast<std::uint64_t>(rank)).backward();
        }
    }

    std::vector<Share> shares;
    at::Tensor w;  // (E, d, d)
};

/// What a rank has: its tokens, and its experts.
struct OwnExperts {
    OwnExperts(const Spread& spread, const WholeExperts& whole, const Communicator& comm)
        : share(spread, comm.rank()), w(part(whole.w, 0, comm).clone().requires_grad_()) {}

    [[nodiscard]] Experts experts() const {
        return [own = w](std::int64_t local, const at::Tensor& tokens) {
            return one_expert(own[local], tokens);
        };
    }

    [[nodiscard]] at::Tensor forward(const Communicator& comm) const {
        return expert_parallel(share.x, share.routing, experts(), comm);
    }

    void has_gradients_of(const WholeExperts& whole, const Communicator& comm) const {
        const Share& same = whole.shares[static_cast<std::size_t>(comm.rank())];
        const auto check = [](const char* what, const at::Tensor& got, const at::Tensor& expected) {
            INFO("the gradient of " << what);
            CHECK(equal(got.grad(), expected));
        };
        check(
            "this rank's experts, to which tokens of all ranks came", w,
            part(whole.w.grad(), 0, comm)
        );
        check("this rank's tokens, which went to experts of all ranks", share.x, same.x.grad());
        check(
            "the weights of this rank's choices", share.routing.weights, same.routing.weights.grad()
        );
    }

    Share share;
    at::Tensor w;  // (E / p, d, d)
};

/// Whether y is what one process has for this rank's tokens.
inline void is_output_of(const at::Tensor& y, const WholeExperts& whole, int rank) {
    const at::Tensor w = whole.shares[static_cast<std::size_t>(rank)].routing.weights.detach();
    const Comparison output = equal(
        y, whole.forward(rank),
        {{whole.forward(rank, w.gt(0)), "that is the sum without the weights"},
         {whole.forward(rank, w.mul(w)), "the weights are in it twice"},
         {at::zeros(y.sizes()), "it is all 0"}}
    );
    CHECK(output);
}

/// Output and all gradients are those of one process.
inline void computes_as_one(const Spread& spread, const Communicator& comm) {
    INFO(spread.name);
    const WholeExperts whole(spread, comm.size());
    whole.backward();
    const OwnExperts own(spread, whole, comm);
    const at::Tensor y = own.forward(comm);
    loss_of(y, static_cast<std::uint64_t>(comm.rank())).backward();
    is_output_of(y, whole, comm.rank());
    own.has_gradients_of(whole, comm);
}

}  // namespace dist::harness
