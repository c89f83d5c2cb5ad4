// What ring_attention must do: compute as one process does, with p-1 messages in forward and 2p-1
// in backward, in memory for a block of scores, and with the same work on each rank where balanced.
#include "exercises/08_model_parallel/ring_attention.hpp"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

struct Way {
    const char* name;
    bool causal, balanced;
};

constexpr Way kFull = {"without a causal mask", false, false};
constexpr Way kCausal = {"causal, contiguous", true, false};
constexpr Way kBalanced = {"causal, balanced", true, true};

/// Runs a body on rings of several sizes, for each way.
void on_rings(const std::function<void(const Way& way, const Communicator& comm)>& body) {
    on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
        for (const Way& way : {kFull, kCausal, kBalanced}) {
            INFO(way.name);
            body(way, comm);
        }
    });
}

/// A result and three gradients, of all tokens.
struct Outcome {
    at::Tensor out, dq, dk, dv;
};

/// Queries, keys and values of a whole sequence, and a gradient of the result; the same on every
/// rank. Of input(), in eighths: no number is greater than 1.
struct WholeAttention {
    WholeAttention(Way way, std::vector<std::int64_t> shape, std::uint64_t salt = 0)
        : options{.causal = way.causal, .balanced = way.balanced, .scale = {}},
          q(filled(shape, 0, salt + 1).div(8)),
          k(filled(shape, 0, salt + 2).div(8)),
          v(filled(shape, 0, salt + 3).div(8)),
          gradient(filled(shape, 0, salt + 4).div(8)) {}

    /// With the gradient of the result of some rows only, where `rows` has 1.
    [[nodiscard]] Outcome outcome(bool causal, const at::Tensor& rows) const {
        const auto leaf = [](const at::Tensor& t) { return t.to(at::kDouble).requires_grad_(); };
        const auto of = [](const at::Tensor& t) { return t.grad().to(at::kFloat); };
        const at::Tensor dq = leaf(q);
        const at::Tensor dk = leaf(k);
        const at::Tensor dv = leaf(v);
        const std::int64_t s = q.size(2);
        const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
        at::Tensor scores = at::matmul(dq, dk.transpose(-2, -1)).mul(scale);
        if (causal) {
            const at::Tensor later = at::ones({s, s}, at::kBool).triu(1);
            scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
        }
        const at::Tensor out = at::matmul(at::softmax(scores, -1), dv);
        out.mul(gradient.mul(rows)).sum().backward();
        return {out.detach().to(at::kFloat), of(dq), of(dk), of(dv)};
    }

    /// The tokens of a rank.
    [[nodiscard]] at::Tensor tokens(int p, int rank) const {
        return at::tensor(ring_attention_tokens(q.size(2), p, rank, options.balanced));
    }

    RingAttentionOptions options;
    at::Tensor q, k, v, gradient;
    double unit = 1;  // numbers are compared in units of it

    /// Sums of at most 24 products of numbers up to 1, and exp of scores up to 3: each rounds by 2^-24
    /// of numbers up to 24.
    double tolerance = 1e-5;
};

/// What this rank has of it, as leaves that require gradients.
struct OwnAttention {
    OwnAttention(
        const WholeAttention& all, const Communicator& ranks, Layout layout = Layout::contiguous
    )
        : whole(all),
          comm(ranks),
          q(laid_out(own(all.q), layout).requires_grad_()),
          k(laid_out(own(all.k), layout).requires_grad_()),
          v(laid_out(own(all.v), layout).requires_grad_()),
          gradient(laid_out(own(all.gradient), layout)) {}

    [[nodiscard]] at::Tensor own(const at::Tensor& t) const {
        return t.index_select(2, whole.tokens(comm.size(), comm.rank()));
    }

    [[nodiscard]] at::Tensor forward() const {
        return ring_attention(q, k, v, whole.options, comm);
    }

    const WholeAttention& whole;
    const Communicator& comm;
    at::Tensor q, k, v, gradient;
};

/// Result and gradients are this rank's rows of those of one process. After backward.
void is_as_one(const OwnAttention& mine, const at::Tensor& out) {
    const WholeAttention& whole = mine.whole;
    const bool causal = whole.options.causal;
    const int p = mine.comm.size();
    const int r = mine.comm.rank();
    const auto rows = [&](const at::Tensor& all, int rank) {
        return all.index_select(2, whole.tokens(p, rank)).div(whole.unit);
    };
    const at::Tensor all = at::ones(whole.q.sizes());
    const Outcome right = whole.outcome(causal, all);
    const Outcome unmasked = whole.outcome(false, all);
    const Outcome alone = whole.outcome(causal, all.mul(0).index_fill(2, whole.tokens(p, r), 1));
    const auto check = [&](const char* what, const at::Tensor& got, at::Tensor Outcome::*of) {
        INFO(what);
        const std::vector<std::pair<at::Tensor, std::string>> mistakes = {
            {rows(alone.*of, r),
             "that is what this rank's own queries bring: all that attend to these keys have a "
             "part in it"},
            {rows(right.*of, (r + 1) % p),
             "that is the gradient of the next rank's: after its last visit it has one more step "
             "to go home"},
            {rows(unmasked.*of, r), "that is without the causal mask"}};
        const at::Tensor in_units = got.defined() ? got.div(whole.unit) : got;
        CHECK(equal(in_units, rows(right.*of, r), mistakes, whole.tolerance));
    };
    check("the result of this rank's rows", out, &Outcome::out);
    check("the gradient of this rank's queries", mine.q.grad(), &Outcome::dq);
    check("the gradient of this rank's keys", mine.k.grad(), &Outcome::dk);
    check("the gradient of this rank's values", mine.v.grad(), &Outcome::dv);
}

void computes_as_one(const WholeAttention& whole, const Communicator& comm) {
    const OwnAttention mine(whole, comm);
    const at::Tensor out = mine.forward();
    out.backward(mine.gradient);
    is_as_one(mine, out);
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own ring_shift.");

/// 2 sequences of n tokens a rank, 3 heads, 5 numbers in each.
std::vector<std::int64_t> shape_of(const Communicator& comm, std::int64_t n = 6) {
    return {2, 3, comm.size() * n, 5};
}

/// So many messages to the next rank or to the one before, each of keys and values as large as q.
Cost messages(long count, const at::Tensor& q, const Communicator& comm) {
    return {
        .messages_sent = exactly(count),
        .bytes_sent = exactly(count * 2 * static_cast<long>(q.nbytes())),
        .rounds = ring_rounds(count, comm.size()),
        .among = neighbours(comm)};
}

}  // namespace

TEST_CASE("tokens: each rank has a piece, or where balanced one of the head and one of the tail") {
    on_ranks({1}, [](const Communicator& comm) {
        using Tokens = std::vector<std::int64_t>;
        CHECK(ring_attention_tokens(12, 3, 1, false) == Tokens{4, 5, 6, 7});
        CHECK(ring_attention_tokens(12, 3, 0, true) == Tokens{0, 1, 10, 11});
        CHECK(ring_attention_tokens(12, 3, 1, true) == Tokens{2, 3, 8, 9});
        CHECK(ring_attention_tokens(12, 3, 2, true) == Tokens{4, 5, 6, 7});
        CHECK(ring_attention_tokens(0, 3, 1, true).empty());
        const auto refused = [&](const char* what, std::int64_t s, int p, int rank, bool balanced) {
            refuses(comm, what, [=] { (void)ring_attention_tokens(s, p, rank, balanced); });
        };
        refused("13 tokens for 3 ranks", 13, 3, 0, false);
        refused("15 tokens for 3 ranks, balanced", 15, 3, 0, true);
        refused("rank 3 of 3", 12, 3, 3, false);
        refused("rank -1 of 3", 12, 3, -1, true);
    });
}

TEST_CASE("result and gradients are those of one process, with and without a mask, also balanced") {
    on_rings([](const Way& way, const Communicator& comm) {
        using Case = std::pair<std::int64_t, std::optional<double>>;
        for (const auto& [n, scale] : {Case{6, {}}, {2, -1.5}, {4, 0.0}, {1, {}}}) {
            if (n > 1 || !way.balanced) {
                INFO(
                    n << " tokens on each rank, and the scale is "
                      << (scale ? std::to_string(*scale) : "1 / sqrt(d)")
                );
                WholeAttention whole(way, shape_of(comm, n));
                whole.options.scale = scale;
                computes_as_one(whole, comm);
            }
        }
    });
}

TEST_CASE("forward sends keys and values together, p-1 times; backward sends 2p-1 messages") {
    on_rings([](const Way& way, const Communicator& comm) {
        const WholeAttention whole(way, shape_of(comm));
        const OwnAttention mine(whole, comm);
        at::Tensor out;
        const Traffic there = record(comm, [&] { out = mine.forward(); });
        const Traffic back = record(comm, [&] { out.backward(mine.gradient); });
        const int p = comm.size();
        {
            INFO("forward: each message has the keys and the values of one rank");
            CHECK(within(there, messages(p - 1, mine.q, comm)));
        }
        INFO("backward: the gradient of keys goes round with them, and one step more: home");
        CHECK(within(back, messages(p == 1 ? 0 : 2 * p - 1, mine.q, comm)));
    });
}

TEST_CASE("scores of tokens that cannot be seen are not computed; balanced, all ranks work alike") {
    on_rings([](const Way& way, const Communicator& comm) {
        const WholeAttention whole(way, shape_of(comm));
        const OwnAttention mine(whole, comm);
        const Multiplications multiplications;
        const at::Tensor out = mine.forward();
        const std::int64_t forward = multiplications.taken();
        out.backward(mine.gradient);
        const std::int64_t backward = multiplications.taken();
        const int p = comm.size();
        // twice the scores of a head, in blocks of n * n
        const int scores = !way.causal ? 2 * p : way.balanced ? p + 1 : 2 * (comm.rank() + 1);
        const std::int64_t product = scores * 2 * 3 * 6 * 6 * 5 / 2;
        INFO(
            "multiplications of matrix products, where one with all scores that this rank's tokens "
            "need has "
            << product
        );
        {
            INFO("forward has two such products: are there scores that the mask hides?");
            CHECK(forward <= 2 * product);
        }
        {
            INFO("backward has five");
            CHECK(backward <= 5 * product);
        }
        if (way.balanced) {
            const float work[] = {static_cast<float>(forward), static_cast<float>(backward)};
            INFO("balanced: what one rank computes more is what all others wait for");
            CHECK(same_on_all_ranks(work, comm));
        }
    });
}

TEST_CASE("no rank holds more than blocks of its own tokens' scores, and keeps none for backward") {
    on_rings([](const Way& way, const Communicator& comm) {
        // where scores are the larger part, and where keys are
        for (const auto& [n, d] : {std::pair<std::int64_t, std::int64_t>(256, 3), {16, 1023}}) {
            const WholeAttention whole(way, {1, 2, n * comm.size(), d});
            const OwnAttention mine(whole, comm);
            const std::size_t block = sizeof(float) * static_cast<std::size_t>(2 * n * n);
            const std::size_t rows = mine.q.nbytes();
            const MemoryBefore before;
            forget_peak();
            const at::Tensor out = mine.forward();
            const std::size_t forward = before.peak_since();
            const std::size_t kept = before.tensors_since();
            const Comparison beside = before.nothing_beside();
            forget_peak();
            out.backward(mine.gradient);
            const std::size_t backward = before.peak_since();
            INFO(n << " tokens on each rank, heads of " << d);
            INFO("bytes: a block of scores has " << block << ", a tensor like q " << rows);
            {
                INFO("in forward: are there scores, or keys and values, of more than one rank?");
                CHECK(forward <= 3 * block + 8 * rows);
            }
            {
                INFO("in between: the result, and two floats for each of its rows");
                CHECK(kept <= rows + rows / static_cast<std::size_t>(d) * 2);
                CHECK(beside);
            }
            INFO("in backward: are there scores, or keys and values, of more than one rank?");
            CHECK(backward <= 3 * block + 14 * rows);
        }
    });
}

TEST_CASE("scores of 10000 overflow nowhere: all, those of any one rank, or all others'") {
    // In float32 10000 is rounded by 5e-4, and so is the logarithm of a sum of exponentials that is
    // near it: in each block and each merge. Keys are up to 100, and so are gradients: they are
    // compared in units of that.
    on_rings([](const Way& way, const Communicator& comm) {
        const int p = comm.size();
        for (int rank = 0; rank < p; ++rank) {
            for (const float key : {100.F, -100.F}) {
                WholeAttention whole(way, shape_of(comm, 4));
                whole.options.scale = 1;
                whole.unit = 100;
                whole.tolerance = 4e-3;
                whole.q.select(-1, 0).fill_(100);
                whole.k.select(-1, 0).fill_(-key);
                whole.k.select(-1, 0).index_fill_(2, whole.tokens(p, rank), key);
                INFO("scores near " << 100 * key << " for the keys of rank " << rank);
                INFO("and near " << -100 * key << " for those of all others");
                computes_as_one(whole, comm);
            }
        }
    });
}

TEST_CASE("q, k, v and the gradient may lie in memory in any way, and stay as they are") {
    on_rings([](const Way& way, const Communicator& comm) {
        for (const Layout layout : kLayouts) {
            INFO("tensors that lie " << name_of(layout));
            WholeAttention whole(way, shape_of(comm));
            for (at::Tensor* t : {&whole.q, &whole.k, &whole.v, &whole.gradient}) {
                *t = laid_out(*t, layout);  // where expanded, both sequences are alike
            }
            const OwnAttention mine(whole, comm, layout);
            const auto kept = as_now({mine.q, mine.k, mine.v, mine.gradient});
            const at::Tensor out = mine.forward();
            CHECK(kept());
            out.backward(mine.gradient);
            is_as_one(mine, out);
        }
    });
}

TEST_CASE("two calls on two communicators know nothing of each other, in either order") {
    on_ranks({4, 2, 3}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, -comm.rank());
        for (const int first : {0, 1}) {
            const WholeAttention wholes[] = {
                {kBalanced, shape_of(comm, 2)}, {kCausal, shape_of(group, 4), 10UL + number}};
            const OwnAttention owns[] = {{wholes[0], comm}, {wholes[1], group}};
            const at::Tensor outs[] = {owns[0].forward(), owns[1].forward()};
            outs[first].backward(owns[first].gradient);
            outs[1 - first].backward(owns[1 - first].gradient);
            for (const int i : {0, 1}) {
                INFO((i == 0 ? "the ring of all ranks" : "that of every second rank, reversed"));
                INFO("it goes back " << (i == first ? "first" : "last"));
                is_as_one(owns[i], outs[i]);
            }
        }
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    for (const bool trained : {false, true}) {
        reports_failures([=](const Communicator& comm) {
            const WholeAttention whole(kBalanced, shape_of(comm, 2));
            const OwnAttention mine(whole, comm);
            const at::Tensor out = mine.forward();
            if (trained) {
                out.backward(mine.gradient);
            }
        });
    }
}

TEST_CASE("what is to be differentiated again is refused out of backward") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const WholeAttention whole(kCausal, shape_of(comm, 2));
        const OwnAttention mine(whole, comm);
        CHECK(is_refused_again(mine.forward(), mine.q));
    });
}

TEST_CASE("other shapes are refused, balanced without a mask, and halves that are not one") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const at::Tensor q = filled({2, 3, 6, 5}, 0, 1);
        const auto refused = [&](const char* what, const at::Tensor& of_q, const at::Tensor& k,
                                 const at::Tensor& v, bool causal, bool balanced) {
            const RingAttentionOptions options{causal, balanced, {}};
            refuses(comm, what, [&] { (void)ring_attention(of_q, k, v, options, comm); });
        };
        refused("q of three dimensions", q[0], q[0], q[0], false, false);
        refused("k of fewer tokens than q", q, filled({2, 3, 4, 5}, 0, 1), q, false, false);
        refused("v of fewer heads than q", q, q, filled({2, 1, 6, 5}, 0, 1), false, false);
        refused("balanced, and not causal", q, q, q, false, true);
        const at::Tensor odd = filled({2, 3, 5, 5}, 0, 1);
        refused("balanced, and 5 tokens on each rank", odd, odd, odd, true, true);
    });
}
