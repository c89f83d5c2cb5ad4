// What balance_loss() has to give: with the choices of all ranks, and this rank's probabilities.
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/zeros.h>
#include <vector>

#include "tests/08_model_parallel/routed_tokens.hpp"
#include "tests/08_model_parallel/whole_experts.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

inline void is_one_where_balanced() {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const std::int64_t each : {1, 2}) {
            // rank r's tokens all go to expert r, rank 0's also to the experts that are left
            std::vector<std::int64_t> chosen(static_cast<std::size_t>(each), comm.rank());
            for (std::int64_t e = comm.size(); comm.rank() == 0 && e < 4; ++e) {
                chosen.insert(chosen.end(), static_cast<std::size_t>(each), e);
            }
            const at::Tensor loss = balance_loss(route(sure_scores(chosen, 4), 1, 1), comm);
            const at::Tensor collapsed = balance_loss(
                route(sure_scores(std::vector<std::int64_t>(chosen.size(), 2), 4), 1, 1), comm
            );
            INFO("4 experts, and each is chosen " << each << " times by all ranks together");
            CHECK(loss.item<float>() == 1);
            INFO("all tokens of all ranks go to expert 2");
            CHECK(collapsed.item<float>() == 4);
        }
    });
}

inline void is_0_without_tokens() {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const std::int64_t of_rank_1 : {4, 0}) {
            const std::int64_t tokens = comm.rank() * of_rank_1;
            const Routing routing = route(at::zeros({tokens, 4}), 1, 1);
            const auto loss = balance_loss(routing, comm).item<float>();
            INFO("rank 0 has no tokens, rank 1 has " << of_rank_1);
            // all scores are equal: the best expert is number 0, with a probability of 1/4
            CHECK(loss == (tokens > 0 ? 1 : 0));
        }
    });
}

inline void is_that_of_one_process() {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        const std::vector<std::int64_t> tokens = {5, 0, 7, 3};
        for (const std::int64_t k : {1, 2}) {
            std::vector<at::Tensor> parts;
            for (int rank = 0; rank < comm.size(); ++rank) {
                const auto n = tokens[static_cast<std::size_t>(rank)];
                parts.push_back(scores_of(n, 5, rank).div(4));
            }
            const auto own = static_cast<std::size_t>(comm.rank());
            const at::Tensor all = at::cat(parts).requires_grad_();
            const at::Tensor p = all.softmax(-1);
            const at::Tensor f =
                at::one_hot(route(all, k, 1).experts, 5).sum(1).to(at::kFloat).mean(0).div(k);
            // each token's part of the loss of one process
            const at::Tensor terms = p.mul(f).sum(-1).mul(5);
            terms.sum().backward();
            const at::Tensor scores = parts[own].detach().clone().requires_grad_();
            const at::Tensor loss = balance_loss(route(scores, k, 0.5), comm);
            loss.mul(tokens[own]).backward();
            const auto mine = [&](const at::Tensor& of) {
                return of.detach().split_with_sizes([&] {
                    return std::vector<std::int64_t>(tokens.begin(), tokens.begin() + comm.size());
                }())[own];
            };
            INFO("k = " << k << ", factor 0.5: choices that are dropped count as well");
            // some ten sums of numbers below 8, each rounded by 2^-24 of itself
            CHECK(same(elements(loss.mul(tokens[own])), elements(mine(terms).sum()), 1e-5));
            REQUIRE(scores.grad().defined());
            CHECK(same(elements(scores.grad()), elements(mine(all.grad())), 1e-5));
        }
    });
}

inline void costs_one_all_reduce() {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const at::Tensor scores = scores_of(comm.rank(), kExperts, comm.rank()).requires_grad_();
        at::Tensor loss;
        const Traffic there = record(comm, [&] { loss = balance_loss(route(scores, 2, 1), comm); });
        const Traffic back = record(comm, [&] { loss.backward(); });
        const long messages = 2L * (comm.size() - 1);
        CHECK(within(
            there, {.messages_sent = exactly(messages),
                    .bytes_sent = exactly(messages * float_bytes(kExperts) / comm.size()),
                    .among = neighbours(comm)}
        ));
        CHECK(back.messages_sent == 0);
    });
}

}  // namespace dist::harness
