// What route() has to give, made in plain loops; and scores that say where tokens go.
#pragma once

#include <ATen/ops/full.h>
#include <algorithm>
#include <numeric>
#include <vector>

#include "exercises/08_model_parallel/expert_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// Whole numbers, of which many are equal.
inline at::Tensor scores_of(std::int64_t tokens, std::int64_t experts, int rank = 0) {
    return filled({tokens, experts}, rank, 3);
}

/// Scores so far apart that the probability of the chosen expert is 1.
inline at::Tensor sure_scores(const std::vector<std::int64_t>& chosen, std::int64_t experts) {
    at::Tensor scores = at::full({std::ssize(chosen), experts}, -100.0, at::kFloat);
    for (std::size_t t = 0; t < chosen.size(); ++t) {
        scores[static_cast<std::int64_t>(t)][chosen[t]] = 100;
    }
    return scores;
}

/// As floats, token by token.
struct PlainRouting {
    std::vector<float> experts, kept;
};

inline PlainRouting routed_plainly(const at::Tensor& scores, std::int64_t k, std::int64_t room) {
    PlainRouting plain;
    std::vector<std::int64_t> taken(static_cast<std::size_t>(scores.size(1)));
    for (std::int64_t t = 0; t < scores.size(0); ++t) {
        const std::vector<float> row = elements(scores[t]);
        std::vector<std::size_t> order(row.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](auto a, auto b) { return row[a] > row[b]; });
        for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
            plain.experts.push_back(static_cast<float>(order[j]));
            plain.kept.push_back(taken[order[j]]++ < room ? 1.0F : 0.0F);
        }
    }
    return plain;
}

inline void keeps_first_choices() {
    // tokens 0 and 1 have expert 1 as second choice, token 2 as best: there is room for two
    const at::Tensor scores = filled({3, 3}, {3, 2, 1, 1, 2, 3, 1, 3, 2});
    INFO("three tokens: experts (0, 1), (2, 1), (1, 2), and room for two tokens in each");
    const Comparison golden = same(
        elements(route(scores, 2, 1).kept.to(at::kFloat)), std::vector<float>{1, 1, 1, 1, 0, 1}, 0,
        {{{1, 1, 1, 0, 1, 1}, "that serves best choices before second ones"},
         {{1, 1, 1, 1, 1, 1}, "nothing is dropped"}}
    );
    CHECK(golden);
    for (const std::int64_t tokens : {20, 7, 0}) {
        for (const std::int64_t k : {1, 2, 3}) {
            for (const double factor : {0.5, 1.0, 1.25, 5.0}) {
                const at::Tensor many = scores_of(tokens, 5);
                const std::int64_t room = expert_capacity(tokens, k, 5, factor);
                INFO(tokens << " tokens, 5 experts, k = " << k << ", factor " << factor);
                CHECK(same(
                    elements(route(many, k, factor).kept.to(at::kFloat)),
                    routed_plainly(many, k, room).kept
                ));
            }
        }
    }
}

inline void weighs_by_probabilities() {
    for (const std::int64_t k : {1, 2, 5}) {
        const at::Tensor scores = scores_of(9, 5).div(4).requires_grad_();
        const at::Tensor same_scores = scores.detach().clone().requires_grad_();
        const Routing routing = route(scores, k, 1);
        const at::Tensor all = same_scores.softmax(-1);
        const at::Tensor expected = all.gather(-1, routing.experts);
        loss_of(expected).add(loss_of(all, 1)).backward();
        loss_of(routing.weights).add(loss_of(routing.probabilities, 1)).backward();
        INFO("k = " << k);
        // each is rounded a few times, by 2^-24 of itself; a gradient is a sum of numbers below 8
        CHECK(same(
            elements(routing.weights), elements(expected), 1e-6,
            {{elements(expected.div(expected.sum(-1, true))), "they are made to add up to 1"}}
        ));
        CHECK(same(elements(routing.probabilities), elements(all), 1e-6));
        REQUIRE(scores.grad().defined());
        CHECK(same(elements(scores.grad()), elements(same_scores.grad()), 1e-5));
    }
}

}  // namespace dist::harness
