// What expert_parallel must do: send each token to its experts, wherever they are, and return what
// one process would compute, by two exchanges of rows in forward and two in backward.
#include "exercises/08_model_parallel/expert_parallel.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr std::int64_t kExperts = 12;  // 1, 2, 3 and 4 divide it
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

    /// The tokens that go to an expert, in their order.
    [[nodiscard]] at::Tensor tokens_for(std::int64_t expert) const {
        return routing.experts.eq(expert).logical_and(routing.kept).any(-1).nonzero().squeeze(-1);
    }

    /// How many choices leave for experts of a rank of p.
    [[nodiscard]] std::int64_t choices_for(int rank, int p) const {
        const at::Tensor owners = routing.experts.div(kExperts / p, "floor");
        return owners.eq(rank).logical_and(routing.kept).sum().item<std::int64_t>();
    }

    at::Tensor x;
    Routing routing;
};

at::Tensor one_expert(const at::Tensor& w, const at::Tensor& tokens) {
    return at::relu(tokens.mm(w.t()));
}

/// All tokens and all experts on one process, and what this rank has of them.
struct Trial {
    Trial(const Spread& spread, const Communicator& ranks)
        : comm(ranks),
          w(filled({kExperts, kWidth, kWidth}, 0, spread.salt + 2).requires_grad_()),
          own(spread, ranks.rank()),
          own_w(part(w, 0, ranks).clone().requires_grad_()) {
        for (int rank = 0; rank < ranks.size(); ++rank) {
            shares.emplace_back(spread, rank);
        }
    }

    /// The output for one rank's tokens on one process: every expert sees every token, most weights are 0.
    [[nodiscard]] at::Tensor whole(int rank) const {
        const auto& [x, routing] = shares[rank];
        at::Tensor y = at::zeros(x.sizes());
        for (std::int64_t e = 0; e < kExperts; ++e) {
            const at::Tensor counts = routing.experts.eq(e).logical_and(routing.kept);
            const at::Tensor weight = routing.weights.mul(counts).sum(-1, true);
            y = y.add(one_expert(w[e], x).mul(weight));
        }
        return y;
    }

    [[nodiscard]] at::Tensor forward() const {
        const auto experts = [this](std::int64_t local, const at::Tensor& tokens) {
            return one_expert(own_w[local], tokens);
        };
        return expert_parallel(own.x, own.routing, experts, comm);
    }

    /// Whether this rank's gradients are those of the sum of all ranks' losses on one process.
    void has_gradients() const {
        for (int rank = 0; rank < comm.size(); ++rank) {
            loss_of(whole(rank), rank).backward();
        }
        const Share& same = shares[comm.rank()];
        const auto check = [](const char* what, const at::Tensor& got, const at::Tensor& expected) {
            INFO("the gradient of " << what);
            CHECK(equal(got, expected));
        };
        check(
            "this rank's experts, to which tokens of all ranks came", own_w.grad(),
            part(w.grad(), 0, comm)
        );
        if (own.x.requires_grad()) {
            check(
                "this rank's tokens, which went to experts of all ranks", own.x.grad(),
                same.x.grad()
            );
        }
        check(
            "the weights of this rank's choices", own.routing.weights.grad(),
            same.routing.weights.grad()
        );
    }

    const Communicator& comm;
    at::Tensor w;  // (E, d, d)
    Share own;
    at::Tensor own_w;  // (E / p, d, d)
    std::vector<Share> shares;
};

/// Whole numbers, of which many are equal.
at::Tensor scores_of(std::int64_t tokens, std::int64_t experts) {
    return filled({tokens, experts}, 0, 3);
}

/// How many rows go from a rank to each.
using Counts = std::vector<std::int64_t>;

/// Whether each exchange was one message to each other rank for which there are rows, and before them each rank got a
/// message of `floats`, if there are any.
Comparison sent(
    const Traffic& traffic,
    const Communicator& comm,
    const std::vector<Counts>& exchanges,
    std::int64_t floats = 0
) {
    long messages = floats > 0 ? comm.size() - 1 : 0;
    floats *= messages;
    for (const Counts& rows : exchanges) {
        for (int other = 0; other < comm.size(); ++other) {
            if (other != comm.rank() && rows[other] > 0) {
                ++messages;
                floats += rows[other] * kWidth;
            }
        }
    }
    return within(
        traffic, {.messages_sent = exactly(messages), .bytes_sent = exactly(float_bytes(floats))}
    );
}

/// The rows from one rank to another, (src, dst, i) each, plus a number: none for some, itself among them.
at::Tensor rows_between(std::int64_t src, std::int64_t dst, std::int64_t plus) {
    const at::Tensor numbers = at::arange((2 * src + 3 * dst + 1) % 4, at::kFloat);
    const at::Tensor zeros = numbers.mul(0);
    return at::stack({zeros.add(src), zeros.add(dst), numbers}, 1).add(plus);
}

/// All rows that this rank sends, and all that it receives.
struct RowsOf {
    explicit RowsOf(const Communicator& comm, std::int64_t plus = 0) {
        std::vector<at::Tensor> out, in;
        for (int other = 0; other < comm.size(); ++other) {
            out.push_back(rows_between(comm.rank(), other, plus));
            in.push_back(rows_between(other, comm.rank(), plus));
            sends.push_back(out.back().size(0));
            receives.push_back(in.back().size(0));
        }
        sent = at::cat(out);
        received = at::cat(in);
    }

    Counts sends, receives;
    at::Tensor sent, received;
};

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

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

TEST_CASE("a token chooses its best experts, an expert keeps its first choices by token") {
    on_ranks({1}, [](const Communicator&) {
        const auto routes = [](const at::Tensor& scores, std::int64_t k, double factor,
                               const std::vector<float>& experts, const std::vector<float>& kept) {
            const Routing got = route(scores, k, factor);
            const std::vector<std::int64_t> shape = {scores.size(0), k};
            CHECK(equal(got.experts.to(at::kFloat), filled(shape, experts)));
            CHECK(equal(
                got.kept.to(at::kFloat), filled(shape, kept),
                {{filled({3, 2}, {1, 1, 1, 0, 1, 1}),
                  "that serves best choices before second ones"},
                 {at::ones(shape), "nothing is dropped"}}
            ));
        };
        {
            INFO("three tokens: expert 1 is second choice, second choice, best");
            INFO("there is room for two tokens in each");
            const at::Tensor scores = filled({3, 3}, {3, 2, 1, 1, 2, 3, 1, 3, 2});
            routes(scores, 2, 1, {0, 1, 2, 1, 1, 2}, {1, 1, 1, 1, 0, 1});
        }
        {
            INFO("three tokens, many scores are equal; room for one token in each expert");
            const at::Tensor scores = filled({3, 3}, {2, 5, 5, 5, 5, 2, 1, 1, 1});
            routes(scores, 2, 0.5, {1, 2, 0, 1, 0, 1}, {1, 1, 1, 0, 0, 0});
        }
        {
            INFO("one token, 40 experts, all scores are equal");
            routes(at::ones({1, 40}), 5, 1, {0, 1, 2, 3, 4}, {1, 1, 1, 1, 1});
        }
        INFO("no token");
        routes(at::ones({0, 5}), 5, 1, {}, {});
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
            CHECK(equal(
                routing.weights, expected,
                {{expected.div(expected.sum(-1, true)), "they are made to add up to 1"}}, 1e-6
            ));
            CHECK(equal(routing.probabilities, all, {}, 1e-6));
            CHECK(equal(scores.grad(), same_scores.grad(), {}, 1e-5));
        }
    });
}

TEST_CASE("balance losses, weighted by tokens, are that of one process, for one all-reduce") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        const std::vector<std::int64_t> tokens = {5, 0, 7, 3};
        const std::int64_t own = tokens[comm.rank()];
        const auto first =
            std::accumulate(tokens.begin(), tokens.begin() + comm.rank(), std::int64_t{0});
        const auto total =
            std::accumulate(tokens.begin(), tokens.begin() + comm.size(), std::int64_t{0});
        for (const std::int64_t k : {1, 2}) {
            const at::Tensor all = scores_of(total, kExperts).div(4).requires_grad_();
            const at::Tensor p = all.softmax(-1);
            const at::Tensor chosen = at::one_hot(route(all, k, 1).experts, kExperts);
            const at::Tensor f = chosen.sum(1).to(at::kFloat).mean(0).div(k);
            // each token's part of the loss of one process
            const at::Tensor terms = p.mul(f).sum(-1).mul(kExperts);
            terms.sum().backward();
            const at::Tensor scores = all.detach().narrow(0, first, own).clone().requires_grad_();
            at::Tensor loss;
            const Traffic there =
                record(comm, [&] { loss = balance_loss(route(scores, k, 0.5), comm).mul(own); });
            const Traffic back = record(comm, [&] { loss.backward(); });
            INFO("k = " << k << ", factor 0.5: choices that are dropped count as well");
            // some twenty sums of numbers below 8, each rounded by 2^-24 of itself
            CHECK(equal(loss, terms.narrow(0, first, own).sum(), {}, 1e-5));
            CHECK(equal(scores.grad(), all.grad().narrow(0, first, own), {}, 1e-5));
            INFO("one ring all-reduce of E floats, and backward sends nothing");
            const long messages = 2L * (comm.size() - 1);
            CHECK(within(
                there, {.messages_sent = exactly(messages),
                        .bytes_sent = exactly(messages * float_bytes(kExperts) / comm.size())}
            ));
            CHECK(back.messages_sent == 0);
        }
        INFO("no rank has a token");
        const Routing nobody = route(scores_of(0, kExperts), 1, 1);
        CHECK(balance_loss(nobody, comm).item<float>() == 0);
    });
}

TEST_CASE("rows arrive by rank, in their order, and gradients go back to where the rows were") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const RowsOf rows(comm);
        const RowsOf gradients(comm, 100);
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            const at::Tensor sent_rows = laid_out(rows.sent, layout).requires_grad_();
            const at::Tensor gradient = laid_out(gradients.received, layout);
            at::Tensor got;
            const Traffic there = record(comm, [&] {
                got = exchange_rows(sent_rows, rows.sends, rows.receives, comm);
            });
            const Traffic back = record(comm, [&] { got.backward(gradient); });
            INFO("row i from rank s to rank d is (s, d, i), and rows lie " << name_of(layout));
            CHECK(equal(got, rows.received));
            CHECK(sent(there, comm, {rows.sends}));
            INFO("their gradients, on the rank that sent them: (s, d, i) + 100");
            CHECK(equal(sent_rows.grad(), gradients.sent));
            CHECK(sent(back, comm, {rows.receives}));
        }
        INFO("rows that need no gradient");
        CHECK_FALSE(exchange_rows(rows.sent, rows.sends, rows.receives, comm).requires_grad());
    });
}

TEST_CASE(
    "each expert is called once, with its tokens by rank and by position, and gives weighted rows"
) {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const std::int64_t local = kExperts / comm.size();
        for (const Spread& spread : kSpreads) {
            const auto tokens_of = [&](int rank) {
                const std::int64_t n = spread.tokens[rank];
                const at::Tensor ranks = at::full({n}, rank, at::kFloat);
                return at::stack({ranks, at::arange(n, at::kFloat), at::ones({n})}, 1);
            };
            std::vector<std::int64_t> experts_called;
            std::vector<at::Tensor> got(static_cast<std::size_t>(local));
            const auto note = [&](std::int64_t expert, const at::Tensor& rows) {
                experts_called.push_back(expert);
                got.at(expert) = rows.detach().clone();
                return rows;
            };
            const Routing routing = Share(spread, comm.rank()).routing;
            const at::Tensor x = tokens_of(comm.rank());
            const at::Tensor y = expert_parallel(x, routing, note, comm);
            std::vector<std::int64_t> in_order(local);
            std::iota(in_order.begin(), in_order.end(), 0);
            INFO(spread.name);
            CHECK(experts_called == in_order);
            for (std::int64_t e = 0; e < local; ++e) {
                const std::int64_t number = comm.rank() * local + e;
                std::vector<at::Tensor> expected;
                for (int rank = 0; rank < comm.size(); ++rank) {
                    const at::Tensor chosen = Share(spread, rank).tokens_for(number);
                    expected.push_back(tokens_of(rank).index_select(0, chosen));
                }
                INFO("expert " << number << ": its tokens are (rank, position, 1)");
                CHECK(equal(got[e], at::cat(expected)));
            }
            const at::Tensor sums = routing.weights.mul(routing.kept).sum(-1, true);
            INFO(
                "experts change nothing: x times the sum of its kept weights, 0 where all are "
                "dropped"
            );
            CHECK(equal(
                y, x.mul(sums),
                {{x.mul(routing.weights.sum(-1, true)), "dropped choices are in it"},
                 {x.mul(sums.add(sums.eq(0))),
                  "x is in it where all choices were dropped: the caller adds that"},
                 {x.mul(routing.kept.sum(-1, true)), "that is without the weights"}}
            ));
        }
    });
}

TEST_CASE("output and all gradients are those of one process, for counts and four exchanges") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        std::vector<Spread> spreads = kSpreads;
        for (const Layout layout : kLayouts) {
            spreads.push_back({.name = "k = 2, x lies " + name_of(layout), .layout = layout});
        }
        for (const Spread& spread : spreads) {
            for (const bool trains_x : {true, false}) {
                const Trial trial(spread, comm);
                trial.own.x.requires_grad_(trains_x);
                at::Tensor y;
                const Traffic there = record(comm, [&] { y = trial.forward(); });
                const at::Tensor loss = loss_of(y, r);
                const Traffic back = record(comm, [&] { loss.backward(); });
                INFO(spread.name << (trains_x ? "" : "; x needs no gradient"));
                CHECK(equal(y, trial.whole(r)));
                trial.has_gradients();
                Counts sends, receives;
                for (int other = 0; other < p; ++other) {
                    sends.push_back(trial.shares[r].choices_for(other, p));
                    receives.push_back(trial.shares[other].choices_for(r, p));
                }
                {
                    INFO("forward: E / p counts to each rank, its rows there, others' rows back");
                    CHECK(sent(there, comm, {sends, receives}, kExperts / p));
                }
                INFO("backward: gradients go where results came from, and those of tokens back");
                CHECK(sent(back, comm, {sends, trains_x ? receives : Counts(p)}));
            }
        }
    });
}

TEST_CASE("two calls on two communicators know nothing of each other, in either order") {
    on_ranks({4, 2, 3}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, comm.rank());
        const Spread spreads[] = {
            {.name = "the call of all ranks"},
            {.name = "that of every second rank", .tokens = {3, 4}, .salt = 1UL + number}};
        for (const int first : {0, 1}) {
            const Trial trials[] = {{spreads[0], comm}, {spreads[1], group}};
            at::Tensor losses[2];
            for (const int i : {0, 1}) {
                losses[i] = loss_of(trials[i].forward(), trials[i].comm.rank());
            }
            losses[first].backward();
            losses[1 - first].backward();
            for (const int i : {0, 1}) {
                INFO(spreads[i].name << ", which goes back " << (i == first ? "first" : "last"));
                trials[i].has_gradients();
            }
        }
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    for (const bool trained : {false, true}) {
        reports_failures([=](const Communicator& comm) {
            const Spread spread = {.name = "", .tokens = {6, 6, 6}};
            const Trial trial(spread, comm);
            const at::Tensor y = trial.forward();
            if (trained) {
                y.sum().backward();
            }
        });
    }
}

TEST_CASE("rows whose gradient is to be differentiated again are refused out of backward") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const RowsOf rows(comm);
        const at::Tensor leaf = rows.sent.clone().requires_grad_();
        CHECK(is_refused_again(exchange_rows(leaf, rows.sends, rows.receives, comm), leaf));
    });
}

TEST_CASE("what does not fit is refused: k, factor, experts that p does not divide, other tokens") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor scores = scores_of(4, 5);
        const auto calls = [&](std::int64_t tokens, std::int64_t experts) {
            const Experts none = [](std::int64_t, const at::Tensor& rows) { return rows; };
            (void)expert_parallel(
                scores_of(tokens, kWidth), route(scores_of(4, experts), 1, 1), none, comm
            );
        };
        const std::int64_t p = comm.size();
        const Counts ones(comm.size(), 1);
        const Counts more(comm.size() + 1, 1);
        Counts negative = ones;
        negative[0] = 3;
        negative[1] = -1;
        const auto exchange = [&](std::int64_t n, const Counts& sends, const Counts& receives) {
            (void)exchange_rows(filled({n, 2}, comm.rank(), 1), sends, receives, comm);
        };
        const std::pair<const char*, std::function<void()>> wrong[] = {
            {"k = 0", [&] { (void)route(scores, 0, 1); }},
            {"k = 6 of 5 experts", [&] { (void)route(scores, 6, 1); }},
            {"a factor of 0", [&] { (void)route(scores, 1, 0); }},
            {"scores of one dimension", [&] { (void)route(scores[0], 1, 1); }},
            {"13 experts", [&] { calls(4, 13); }},
            {"a routing of 4 tokens for 3", [&] { calls(3, kExperts); }},
            {"a row more than is sent", [&] { exchange(p + 1, ones, ones); }},
            {"p + 1 numbers to send", [&] { exchange(p + 1, more, ones); }},
            {"p + 1 numbers to receive", [&] { exchange(p, ones, more); }},
            {"a negative number of rows to send", [&] { exchange(p, negative, ones); }},
            {"a negative number of rows to receive", [&] { exchange(p, ones, negative); }}};
        for (const auto& [what, call] : wrong) {
            refuses(comm, what, call);
        }
    });
}
