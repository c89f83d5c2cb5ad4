// What expert_parallel must do: send each token to its experts, wherever they are, and return what
// one process would compute, by two exchanges of rows in forward and two in backward.
#include "exercises/08_model_parallel/expert_parallel.hpp"

#include <ATen/ops/zeros.h>
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/08_model_parallel/balanced_experts.hpp"
#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/exchanged_rows.hpp"
#include "tests/08_model_parallel/expert_costs.hpp"
#include "tests/08_model_parallel/routed_tokens.hpp"
#include "tests/08_model_parallel/whole_experts.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise stands on your own isend, irecv, all_to_all and ring_all_reduce."
);

/// What a rank has that adds results, which come by expert, to its kept tokens in their order.
at::Tensor results_in_order_of_tokens(const Share& share) {
    std::vector<std::int64_t> tokens;
    std::vector<at::Tensor> results;
    for (std::int64_t e = 0; e < kExperts; ++e) {
        const at::Tensor weight = share.weight_of(e, share.routing.weights);
        for (const std::int64_t t : share.tokens_for(e)) {
            tokens.push_back(t);
            results.push_back(share.x[t].mul(weight[t]).detach());
        }
    }
    std::ranges::sort(tokens);
    at::Tensor y = at::zeros(share.x.sizes());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        y[tokens[i]].add_(results[i]);
    }
    return y;
}

}  // namespace

TEST_CASE("the capacity is tokens * k / experts * factor, rounded up") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(expert_capacity(8, 1, 4, 1) == 2);
        CHECK(expert_capacity(10, 1, 4, 1) == 3);
        CHECK(expert_capacity(10, 2, 4, 1) == 5);
        CHECK(expert_capacity(10, 2, 4, 1.25) == 7);
        CHECK(expert_capacity(1, 1, 64, 1) == 1);
        CHECK(expert_capacity(16, 2, 4, 0.5) == 4);
        CHECK(expert_capacity(0, 2, 4, 1) == 0);
        INFO("29 tokens, 7 experts, factor 7: 29, where nothing is rounded before the end");
        CHECK(expert_capacity(29, 1, 7, 7.0) == 29);
    });
}

TEST_CASE("a token chooses the experts with its highest scores, of equal ones the lower number") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::int64_t experts : {5, 40}) {
            for (const std::int64_t k : {1, 2, 5}) {
                const at::Tensor scores = scores_of(20, experts);
                INFO(
                    "20 tokens, " << experts << " experts, k = " << k << ", many scores are equal"
                );
                const Routing routing = route(scores, k, 100);
                REQUIRE(routing.experts.sizes() == at::IntArrayRef({20, k}));
                CHECK(same(
                    elements(routing.experts.to(at::kFloat)),
                    routed_plainly(scores, k, 2000).experts
                ));
            }
        }
    });
}

TEST_CASE("an expert keeps its first choices in the order of tokens, whether best or second") {
    on_ranks({1}, [](const Communicator&) { keeps_first_choices(); });
}

TEST_CASE("weights are probabilities among all experts, and scores get their gradient") {
    on_ranks({1}, [](const Communicator&) { weighs_by_probabilities(); });
}

TEST_CASE("the balance loss is exactly 1 if all ranks together are balanced, though none is") {
    is_one_where_balanced();
}

TEST_CASE("the balance loss of a rank without tokens is 0, also where no rank has any") {
    is_0_without_tokens();
}

TEST_CASE("balance losses, weighted by tokens, are that of one process, and so are gradients") {
    is_that_of_one_process();
}

TEST_CASE("the balance loss costs one all-reduce of E floats, and backward sends nothing") {
    costs_one_all_reduce();
}

TEST_CASE("rows arrive by rank, in their order, and gradients go back to where the rows were") {
    exchanges_rows();
}

TEST_CASE("a rank for which there is no row gets no message") {
    exchanges_rows_by_few_messages();
}

TEST_CASE("each expert is called once, with its tokens by rank and by position, or with none") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Spread& spread : kSpreads) {
            INFO(spread.name);
            hands_tokens_to_experts(spread, comm);
        }
    });
}

TEST_CASE("experts that change nothing give each token times the sum of its kept weights") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const Spread& spread : kSpreads) {
            const Share share(spread, comm.rank());
            const at::Tensor y = expert_parallel(
                share.x, share.routing,
                [](std::int64_t /*local*/, const at::Tensor& tokens) { return tokens; }, comm
            );
            const at::Tensor sums = share.routing.weights.mul(share.routing.kept).sum(-1, true);
            INFO(spread.name << "; x times the sum of its kept weights, 0 where all are dropped");
            const Comparison result = equal(
                y, share.x.mul(sums),
                {{share.x.mul(share.routing.weights.sum(-1, true)), "dropped choices are in it"},
                 {results_in_order_of_tokens(share),
                  "results are added to tokens in order, as if they did not come by expert"},
                 {share.x.mul(sums.add(sums.eq(0))),
                  "x is in it where all choices were dropped: the caller adds that"},
                 {share.x.mul(share.routing.kept.sum(-1, true)), "that is without the weights"}}
            );
            CHECK(result);
        }
    });
}

TEST_CASE("output and all gradients are those of one process that has all experts") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const Spread& spread : kSpreads) {
            computes_as_one(spread, comm);
        }
        for (const Layout layout : kLayouts) {
            INFO("x lies " << name_of(layout));
            computes_as_one({.name = "k = 2", .layout = layout}, comm);
        }
    });
}

TEST_CASE("forward costs the counts and two exchanges, backward two exchanges, to the byte") {
    costs_two_exchanges();
}

TEST_CASE("where x needs no gradient, experts have theirs all the same, by one exchange") {
    costs_one_exchange_without_gradient_of_x();
}

TEST_CASE("two calls that are alive at a time know nothing of each other") {
    two_alive("expert_parallel", [](std::size_t which, const Communicator& comm) {
        struct State {
            WholeExperts whole;
            OwnExperts own;
            at::Tensor y;
        };
        const Spread spread = {
            .name = "",
            .tokens =
                which == 0 ? std::vector<std::int64_t>{5, 3} : std::vector<std::int64_t>{2, 7},
            .salt = which};
        const WholeExperts whole(spread, comm.size());
        const auto state =
            std::make_shared<State>(State{whole, OwnExperts(spread, whole, comm), {}});
        const auto rank = static_cast<std::uint64_t>(comm.rank());
        return Life{
            .calls = {
                [=, &comm] { state->y = state->own.forward(comm); },
                [=] { loss_of(state->y, rank).backward(); }},
            .outcome = [=, &comm] {
                const WholeExperts again(spread, comm.size());
                again.backward();
                state->own.has_gradients_of(again, comm);
                return equal(state->y, again.forward(comm.rank()));
            }};
    });
}

TEST_CASE("tokens stay within the communicator that is given, beside a call on all ranks") {
    on_ranks({4}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, comm.rank());
        const Spread for_all;
        const WholeExperts whole(for_all, comm.size());
        whole.backward();
        const OwnExperts own(for_all, whole, comm);
        const at::Tensor y = own.forward(comm);
        INFO("two groups of two ranks, each with experts of its own, within a call of all four");
        computes_as_one(
            {.name = "k = 2", .tokens = {3, 4}, .salt = static_cast<std::uint64_t>(1 + number)},
            group
        );
        loss_of(y, static_cast<std::uint64_t>(comm.rank())).backward();
        own.has_gradients_of(whole, comm);
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    reports_failures([](const Communicator& comm) {
        (void)balance_loss(route(scores_of(4, kExperts), 2, 1), comm);
    });
    for (const bool trained : {false, true}) {
        reports_failures([&](const Communicator& comm) {
            const Spread spread = {.name = "", .tokens = {6, 6, 6}};
            const WholeExperts whole(spread, comm.size());
            const at::Tensor y = OwnExperts(spread, whole, comm).forward(comm);
            if (trained) {
                y.sum().backward();
            }
        });
    }
}

TEST_CASE("rows whose gradient is to be differentiated again are refused out of backward") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const RowsOf rows(comm);
        const at::Tensor sent = rows.sent.clone().requires_grad_();
        const Comparison refused =
            is_refused_again(exchange_rows(sent, rows.sends, rows.receives, comm), sent);
        CHECK(refused);
    });
}

TEST_CASE("what does not fit is refused: k, factor, experts that p does not divide, other tokens") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor scores = scores_of(4, 5);
        const auto kept = as_now({scores});
        const auto routes = [&](const char* what, const at::Tensor& of, std::int64_t k,
                                double factor) {
            refuses(
                comm, what, [&] { (void)route(of, k, factor); }, kept
            );
        };
        routes("k = 0", scores, 0, 1);
        routes("k = 6 of 5 experts", scores, 6, 1);
        routes("a factor of 0", scores, 1, 0);
        routes("scores of one dimension", scores[0], 1, 1);
        const at::Tensor x = filled({4, kWidth}, comm.rank(), 1);
        const Experts none = [](std::int64_t, const at::Tensor& tokens) { return tokens; };
        const auto calls = [&](const char* what, const at::Tensor& tokens, std::int64_t experts) {
            const Routing routing = route(scores_of(4, experts), 1, 1);
            refuses(
                comm, what, [&] { (void)expert_parallel(tokens, routing, none, comm); }, as_now({x})
            );
        };
        calls("13 experts", x, 13);
        calls("a routing of 4 tokens for 3", x.narrow(0, 0, 3), kExperts);
        refuses_rows(comm);
    });
}
