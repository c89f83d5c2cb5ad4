// What expert_parallel must do: send each token to its experts, wherever they are, and return what
// one process would compute, by two exchanges of rows in forward and two in backward.
#include "exercises/08_model_parallel/expert_parallel.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr std::int64_t kExperts = 12;

// 1, 2, 3 and 4 divide it
constexpr std::int64_t kWidth = 3;

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

const std::vector<Spread> kSpreads = {
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
at::Tensor one_expert(const at::Tensor& w, const at::Tensor& tokens) {
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
void is_output_of(const at::Tensor& y, const WholeExperts& whole, int rank) {
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
void computes_as_one(const Spread& spread, const Communicator& comm) {
    INFO(spread.name);
    const WholeExperts whole(spread, comm.size());
    whole.backward();
    const OwnExperts own(spread, whole, comm);
    const at::Tensor y = own.forward(comm);
    loss_of(y, static_cast<std::uint64_t>(comm.rank())).backward();
    is_output_of(y, whole, comm.rank());
    own.has_gradients_of(whole, comm);
}

/// Whole numbers, of which many are equal.
at::Tensor scores_of(std::int64_t tokens, std::int64_t experts, int rank = 0) {
    return filled({tokens, experts}, rank, 3);
}

/// Scores so far apart that the probability of the chosen expert is 1.
at::Tensor sure_scores(const std::vector<std::int64_t>& chosen, std::int64_t experts) {
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

PlainRouting routed_plainly(const at::Tensor& scores, std::int64_t k, std::int64_t room) {
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

/// The cost of one exchange there and one back, on top of these messages and floats. Each rank sends
/// as many results as it receives rows: it sends and receives the same amount.
Cost two_exchanges(const Spread& spread, const Communicator& comm, long messages, long floats) {
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

/// How many rows rank src has for rank dst: none for some, itself among them.
std::int64_t rows_between(int src, int dst) {
    return (2 * src + 3 * dst + 1) % 4;
}

/// Row i from rank src to rank dst is (src, dst, i); its gradient is (src, dst, i) + 100.
void add_rows(std::vector<float>& rows, int src, int dst, float plus) {
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

/// Experts note what they are called with: each token is (rank, position, 1).
void hands_tokens_to_experts(const Spread& spread, const Communicator& comm) {
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

void refuses_rows(const Communicator& comm) {
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
    on_ranks({1}, [](const Communicator&) {
        // tokens 0 and 1 have expert 1 as second choice, token 2 as best: there is room for two
        const at::Tensor scores = filled({3, 3}, {3, 2, 1, 1, 2, 3, 1, 3, 2});
        INFO("three tokens: experts (0, 1), (2, 1), (1, 2), and room for two tokens in each");
        const Comparison golden = same(
            elements(route(scores, 2, 1).kept.to(at::kFloat)), std::vector<float>{1, 1, 1, 1, 0, 1},
            0,
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
    });
}

TEST_CASE("weights are probabilities among all experts, and scores get their gradient") {
    on_ranks({1}, [](const Communicator&) {
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
    });
}

TEST_CASE("the balance loss is exactly 1 if all ranks together are balanced, though none is") {
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

TEST_CASE("the balance loss of a rank without tokens is 0, also where no rank has any") {
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

TEST_CASE("balance losses, weighted by tokens, are that of one process, and so are gradients") {
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

TEST_CASE("the balance loss costs one all-reduce of E floats, and backward sends nothing") {
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

TEST_CASE("rows arrive by rank, in their order, and gradients go back to where the rows were") {
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

TEST_CASE("a rank for which there is no row gets no message") {
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

TEST_CASE("where x needs no gradient, experts have theirs all the same, by one exchange") {
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
