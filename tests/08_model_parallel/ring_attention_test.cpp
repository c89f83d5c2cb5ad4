// What ring_attention must do: compute as one process does, with p-1 messages in forward and 2p-1
// in backward, in memory for a block of scores, and with the same work on each rank where balanced.
#include "exercises/08_model_parallel/ring_attention.hpp"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

struct Way {
    const char* name;
    bool causal, balanced;
};

constexpr Way kWays[] = {
    {"without a causal mask", false, false},
    {"causal, contiguous", true, false},
    {"causal, balanced", true, true}};

/// The tokens that rank `rank` of p has, written once more.
std::vector<std::int64_t> tokens_of(std::int64_t s, int p, int rank, bool balanced) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t token = 0; token < s; ++token) {
        const std::int64_t piece = token * (balanced ? 2 * p : p) / s;
        if (piece == rank || (balanced && piece == 2 * p - 1 - rank)) {
            tokens.push_back(token);
        }
    }
    return tokens;
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
    [[nodiscard]] Outcome outcome(const at::Tensor& rows = {}) const {
        const auto leaf = [](const at::Tensor& t) { return t.to(at::kDouble).requires_grad_(); };
        Outcome all;
        const at::Tensor dq = leaf(q);
        const at::Tensor dk = leaf(k);
        const at::Tensor dv = leaf(v);
        const std::int64_t s = q.size(2);
        const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
        at::Tensor scores = at::matmul(dq, dk.transpose(-2, -1)).mul(scale);
        if (options.causal) {
            const at::Tensor later = at::ones({s, s}, at::kBool).triu(1);
            scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
        }
        const at::Tensor out = at::matmul(at::softmax(scores, -1), dv);
        out.mul(rows.defined() ? gradient.mul(rows) : gradient).sum().backward();
        return {out.detach().to(at::kFloat), of(dq), of(dk), of(dv)};
    }

    /// The rows of a rank's tokens.
    [[nodiscard]] at::Tensor part(const at::Tensor& whole, int p, int rank) const {
        const auto tokens = tokens_of(q.size(2), p, rank, options.balanced);
        return whole.index_select(2, at::tensor(tokens));
    }

    RingAttentionOptions options;
    at::Tensor q, k, v, gradient;

  private:
    static at::Tensor of(const at::Tensor& leaf) { return leaf.grad().to(at::kFloat); }
};

/// What this rank has of it, as leaves that require gradients.
struct OwnAttention {
    OwnAttention(
        const WholeAttention& all, const Communicator& ranks, Layout layout = Layout::contiguous
    )
        : whole(all),
          comm(ranks),
          q(own(all.q, layout)),
          k(own(all.k, layout)),
          v(own(all.v, layout)) {}

    [[nodiscard]] at::Tensor own(const at::Tensor& t, Layout layout = Layout::contiguous) const {
        return laid_out(whole.part(t, comm.size(), comm.rank()), layout).requires_grad_();
    }

    [[nodiscard]] at::Tensor forward() const {
        return ring_attention(q, k, v, whole.options, comm);
    }

    void backward(const at::Tensor& out, Layout layout = Layout::contiguous) const {
        const at::Tensor g = whole.part(whole.gradient, comm.size(), comm.rank());
        out.backward(laid_out(g, layout));
    }

    const WholeAttention& whole;
    const Communicator& comm;
    at::Tensor q, k, v;
};

/// Sums of at most 24 products of numbers up to 1, and exp of scores up to 3: each rounds by 2^-24
/// of numbers up to 24.
constexpr double kTolerance = 1e-5;

/// Result and gradients are this rank's rows of those of one process.
void is_as_one(
    const OwnAttention& mine, const at::Tensor& out, double tolerance = kTolerance, double unit = 1
) {
    const WholeAttention& whole = mine.whole;
    const int p = mine.comm.size();
    const int r = mine.comm.rank();
    const auto rows = [&](const at::Tensor& t, int rank) {
        return elements(whole.part(t, p, rank).div(unit));
    };
    const Outcome right = whole.outcome();
    const auto check = [&](const char* what, const at::Tensor& got, const at::Tensor& expected,
                           const std::vector<Suspicion>& mistakes) {
        INFO(what);
        const bool has_rows = got.defined() && got.sizes() == mine.q.sizes();
        const Comparison result =
            has_rows ? same(elements(got.div(unit)), rows(expected, r), tolerance, mistakes)
                     : Comparison{false, "it is undefined, or has another shape than q"};
        CHECK(result);
    };
    WholeAttention other = whole;
    other.options.causal = false;
    const Outcome unmasked = other.outcome();
    other = whole;
    other.options.scale = 1;
    const Outcome unscaled = other.outcome();
    at::Tensor here = at::zeros(whole.q.sizes());
    here.index_fill_(2, at::tensor(tokens_of(whole.q.size(2), p, r, whole.options.balanced)), 1);
    const Outcome alone = whole.outcome(here);
    const int next = (r + 1) % p;
    const std::string no_mask = "that is without the causal mask";
    const std::string no_scale = "that is with a scale of 1";
    check(
        "the result of this rank's rows", out, right.out,
        {{rows(unmasked.out, r), no_mask}, {rows(unscaled.out, r), no_scale}}
    );
    check(
        "the gradient of this rank's queries", mine.q.grad(), right.dq,
        {{rows(unmasked.dq, r), no_mask}, {rows(unscaled.dq, r), no_scale}}
    );
    const auto check_keys = [&](const char* what, const at::Tensor& got, const auto& gradient) {
        check(
            what, got, gradient(right),
            {{rows(gradient(alone), r),
              "that is what this rank's own queries bring: all that "
              "attend to these keys have a part in it"},
             {rows(gradient(right), next),
              "that is the gradient of the next rank's: after its last "
              "visit it has one more step to go home"},
             {rows(gradient(unmasked), r), no_mask},
             {rows(gradient(unscaled), r), no_scale}}
        );
    };
    check_keys("the gradient of this rank's keys", mine.k.grad(), [](const Outcome& o) {
        return o.dk;
    });
    check_keys("the gradient of this rank's values", mine.v.grad(), [](const Outcome& o) {
        return o.dv;
    });
}

void computes_as_one(
    const WholeAttention& whole,
    const Communicator& comm,
    Layout layout = Layout::contiguous,
    double tolerance = kTolerance,
    double unit = 1
) {
    const OwnAttention mine(whole, comm, layout);
    const at::Tensor out = mine.forward();
    mine.backward(out, layout);
    is_as_one(mine, out, tolerance, unit);
}

/// So many blocks of scores and so many tensors like q, in bytes.
struct Room {
    std::size_t block, rows;
    [[nodiscard]] Comparison has(std::size_t bytes, std::size_t blocks, std::size_t tensors) const {
        return {
            bytes <= blocks * block + tensors * rows,
            std::to_string(bytes) + " bytes are held, where " + std::to_string(blocks) +
                " blocks of scores have " + std::to_string(blocks * block) + ", and " +
                std::to_string(tensors) + " tensors like q " + std::to_string(tensors * rows)};
    }
};

/// n tokens on each rank, heads of d numbers.
void holds_little(Way way, std::int64_t n, std::int64_t d, const Communicator& comm) {
    const WholeAttention whole(way, {1, 2, n * comm.size(), d});
    const OwnAttention mine(whole, comm);
    const at::Tensor gradient = whole.part(whole.gradient, comm.size(), comm.rank());
    const Room room{sizeof(float) * static_cast<std::size_t>(2 * n * n), mine.q.nbytes()};
    const MemoryBefore before;
    forget_peak();
    const at::Tensor out = mine.forward();
    const std::size_t forward = before.peak_since();
    const std::size_t kept = before.tensors_since();
    const Comparison beside = before.nothing_beside();
    forget_peak();
    out.backward(gradient);
    const std::size_t backward = before.peak_since();
    INFO(way.name << ", " << n << " tokens on each rank, heads of " << d);
    {
        INFO("in forward: are there scores, or keys and values, of more than one rank?");
        CHECK(room.has(forward, 3, 8));
    }
    {
        INFO("from forward to backward: scores are computed again, and keys come round again");
        const std::size_t result = room.rows + room.rows / static_cast<std::size_t>(d) * 2;
        const Comparison held = {
            kept <= result, std::to_string(kept) +
                                " bytes are kept, where the result and two floats for each of its "
                                "rows have " +
                                std::to_string(result)};
        CHECK(held);
        CHECK(beside);
    }
    INFO("in backward: are there scores, or keys and values, of more than one rank?");
    CHECK(room.has(backward, 3, 14));
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own ring_shift.");

constexpr Way kFull = kWays[0];
constexpr Way kCausal = kWays[1];
constexpr Way kBalanced = kWays[2];

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
        for (int p = 1; p <= 8; ++p) {
            for (const bool balanced : {false, true}) {
                for (const std::int64_t s : {0, 2 * p, 10 * p}) {
                    for (int rank = 0; rank < p; ++rank) {
                        INFO("rank " << rank << " of " << p << (balanced ? ", balanced" : ""));
                        const Tokens expected = tokens_of(s, p, rank, balanced);
                        CHECK(ring_attention_tokens(s, p, rank, balanced) == expected);
                    }
                }
            }
        }
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
    for (const Way& way : kWays) {
        on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
            for (const std::int64_t n : {6, 2}) {
                INFO(way.name << ", " << n << " tokens on each rank");
                computes_as_one(WholeAttention(way, shape_of(comm, n)), comm);
            }
        });
    }
    on_ranks({3, 1, 2, 4}, [&](const Communicator& comm) {
        INFO("causal, contiguous, one token on each rank");
        computes_as_one(WholeAttention(kCausal, shape_of(comm, 1)), comm);
    });
}

TEST_CASE("forward sends keys and values together, p-1 times, and gathers none") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            const WholeAttention whole(way, shape_of(comm));
            const OwnAttention mine(whole, comm);
            const Traffic traffic = record(comm, [&] { (void)mine.forward(); });
            INFO(way.name << ": each message has the keys and the values of one rank");
            CHECK(within(traffic, messages(comm.size() - 1, mine.q, comm)));
        }
    });
}

TEST_CASE("backward sends 2p-1 messages: p-1 of keys and values, and p of their gradients") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            const WholeAttention whole(way, shape_of(comm));
            const OwnAttention mine(whole, comm);
            const at::Tensor out = mine.forward();
            const Traffic traffic = record(comm, [&] { mine.backward(out); });
            const long count = comm.size() == 1 ? 0 : 2 * comm.size() - 1;
            INFO(
                way.name << ": the gradient of keys goes round with them, and one step more: home"
            );
            CHECK(within(traffic, messages(count, mine.q, comm)));
        }
    });
}

TEST_CASE("scores of tokens that cannot be seen are not computed; balanced, all ranks work alike") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            const WholeAttention whole(way, shape_of(comm));
            const OwnAttention mine(whole, comm);
            const Multiplications multiplications;
            const at::Tensor out = mine.forward();
            const std::int64_t forward = multiplications.taken();
            mine.backward(out);
            const std::int64_t backward = multiplications.taken();
            const int p = comm.size();
            // twice the scores of a head, in blocks of n * n
            const int scores = !way.causal ? 2 * p : way.balanced ? p + 1 : 2 * (comm.rank() + 1);
            const std::int64_t product = scores * 2 * 3 * 6 * 6 * 5 / 2;
            INFO(
                way.name << ": multiplications of matrix products, where one with all scores "
                            "that this rank's tokens need has "
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
        }
    });
}

TEST_CASE("no rank holds more than blocks of its own tokens' scores, and keeps none for backward") {
    // Where scores are the larger part, and where keys are.
    on_ranks({4, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            holds_little(way, 256, 3, comm);
            holds_little(way, 16, 1023, comm);
        }
    });
}

TEST_CASE("scores are scaled by 1 / sqrt(d), or as the options say") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            for (const double scale : {0.25, -1.5, 1.0, 0.0}) {
                WholeAttention whole(way, shape_of(comm));
                whole.options.scale = scale;
                INFO(way.name << ", a scale of " << scale);
                computes_as_one(whole, comm);
            }
        }
    });
}

TEST_CASE("scores of 10000 overflow nowhere: all, those of any one rank, or all others'") {
    // In float32 10000 is rounded by 5e-4, and so is the logarithm of a sum of exponentials that is
    // near it: in each block and each merge. Keys are up to 100, and so are gradients: they are
    // compared in units of that.
    constexpr double kFar = 4e-3;
    for (const Way& way : kWays) {
        on_ranks({2, 1, 3, 4}, [&](const Communicator& comm) {
            const int p = comm.size();
            for (int rank = -1; rank < p; ++rank) {
                for (const float key : {100.F, -100.F}) {
                    WholeAttention whole(way, shape_of(comm, 4));
                    whole.options.scale = 1;
                    whole.q.select(-1, 0).fill_(100);
                    whole.k.select(-1, 0).fill_(rank < 0 ? key : -key);
                    if (rank >= 0) {
                        const auto tokens = tokens_of(4L * p, p, rank, way.balanced);
                        whole.k.select(-1, 0).index_fill_(2, at::tensor(tokens), key);
                    }
                    INFO(
                        way.name << ": scores near " << 100 * key << " for the keys of "
                                 << (rank < 0 ? std::string("all ranks, as for all others")
                                              : "rank " + std::to_string(rank))
                                 << ", and " << -100 * key << " for others"
                    );
                    computes_as_one(whole, comm, Layout::contiguous, kFar, 100);
                }
            }
        });
    }
}

TEST_CASE("long rows are as exact as short ones") {
    on_ranks({4, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            WholeAttention whole(way, {1, 2, 128 * comm.size(), 3});
            whole.gradient.div_(64
            );  // sums of as many products as there are tokens, of numbers this much smaller
            INFO(way.name << ", " << 128 * comm.size() << " tokens");
            computes_as_one(whole, comm);
        }
    });
}

TEST_CASE("q, k, v and the gradient may lie in memory in any way, and stay as they are") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            for (const Layout layout : kLayouts) {
                INFO(way.name << ", tensors that lie " << name_of(layout));
                WholeAttention whole(way, shape_of(comm));
                for (at::Tensor* t : {&whole.q, &whole.k, &whole.v, &whole.gradient}) {
                    *t = laid_out(*t, layout);  // where expanded, both sequences are alike
                }
                computes_as_one(whole, comm, layout);
                const OwnAttention mine(whole, comm, layout);
                const auto kept = as_now({mine.q, mine.k, mine.v});
                (void)mine.forward();
                const Comparison unchanged = kept();
                CHECK(unchanged);
            }
        }
    });
}

TEST_CASE("gradients of two backwards add up, also of two calls before the first of them") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            INFO(way.name << ": twice the gradients of one call");
            WholeAttention whole(way, shape_of(comm));
            const OwnAttention mine(whole, comm);
            const at::Tensor first = mine.forward();
            const at::Tensor second = mine.forward();
            mine.backward(second);
            mine.backward(first);
            whole.gradient.mul_(2);
            is_as_one(mine, first);
        }
    });
}

TEST_CASE("where no gradient is asked for, the result is the same, and leaves nothing behind") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const WholeAttention whole(kBalanced, shape_of(comm));
        const OwnAttention mine(whole, comm);
        const at::Tensor right = whole.part(whole.outcome().out, comm.size(), comm.rank());
        for (const bool off : {true, false}) {
            const c10::AutoGradMode mode(!off);
            const auto given = [&](const at::Tensor& t) { return off ? t : t.detach(); };
            const at::Tensor out =
                ring_attention(given(mine.q), given(mine.k), given(mine.v), whole.options, comm);
            INFO((off ? "autograd is off" : "q, k and v need no gradient"));
            CHECK(same(elements(out), elements(right), kTolerance));
            CHECK_FALSE(out.requires_grad());
        }
    });
}

TEST_CASE("two sequences that are alive at a time know nothing of each other") {
    two_alive("ring_attention", [](std::size_t which, const Communicator& comm) {
        struct State {
            WholeAttention whole;
            OwnAttention mine;
            at::Tensor out;
            State(std::size_t number, const Communicator& ranks)
                : whole(
                      number == 0 ? kFull : kBalanced,
                      shape_of(ranks, 2 + 2 * static_cast<std::int64_t>(number)),
                      10 * number
                  ),
                  mine(whole, ranks) {}
        };
        const auto state = std::make_shared<State>(which, comm);
        return Life{
            .calls = {
                [=] { state->out = state->mine.forward(); },
                [=] { state->mine.backward(state->out); }},
            .outcome = [=, &comm] {
                const WholeAttention& whole = state->whole;
                const at::Tensor right = whole.part(whole.outcome().dk, comm.size(), comm.rank());
                return same(elements(state->mine.k.grad()), elements(right), kTolerance);
            }};
    });
}

TEST_CASE("the ring is that of the communicator that is given, beside one of all ranks") {
    on_ranks({4}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, -comm.rank());
        const WholeAttention of_all(kBalanced, shape_of(comm, 2));
        const WholeAttention of_group(
            kCausal, shape_of(group, 4), static_cast<std::uint64_t>(10 + number)
        );
        const OwnAttention all(of_all, comm);
        const at::Tensor out = all.forward();
        INFO("two rings of two ranks, whose order is reversed, within one of all four");
        computes_as_one(of_group, group);
        all.backward(out);
        is_as_one(all, out);
    });
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    reports_failures([](const Communicator& comm) {
        const WholeAttention whole(kCausal, shape_of(comm, 2));
        (void)OwnAttention(whole, comm).forward();
    });
    reports_failures([](const Communicator& comm) {
        const WholeAttention whole(kBalanced, shape_of(comm, 2));
        const OwnAttention mine(whole, comm);
        mine.backward(mine.forward());
    });
}

TEST_CASE("what is to be differentiated again is refused out of backward") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const WholeAttention whole(kCausal, shape_of(comm, 2));
        const OwnAttention mine(whole, comm);
        const Comparison refused = is_refused_again(mine.forward(), mine.q);
        CHECK(refused);
    });
}

TEST_CASE("other shapes are refused, balanced without a mask, and halves that are not one") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const at::Tensor q = filled({2, 3, 6, 5}, 0, 1);
        const auto refused = [&](const std::string& what, const at::Tensor& of_q,
                                 const at::Tensor& k, const at::Tensor& v,
                                 const RingAttentionOptions& options = {}) {
            const auto kept = as_now({of_q, k, v});
            refuses(
                comm, what, [&] { (void)ring_attention(of_q, k, v, options, comm); }, kept
            );
        };
        refused("q of three dimensions", q[0], q[0], q[0]);
        refused("k of fewer tokens than q", q, filled({2, 3, 4, 5}, 0, 1), q);
        refused("v of fewer heads than q", q, q, filled({2, 1, 6, 5}, 0, 1));
        refused("q of other columns than k", filled({2, 3, 6, 4}, 0, 1), q, q);
        refused("balanced, and not causal", q, q, q, {.balanced = true, .scale = {}});
        const at::Tensor odd = filled({2, 3, 5, 5}, 0, 1);
        refused(
            "balanced, and 5 tokens on each rank", odd, odd, odd,
            {.causal = true, .balanced = true, .scale = {}}
        );
    });
}
