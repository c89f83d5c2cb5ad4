// What ring_attention must do: compute as one process does, with p-1 messages in forward and 2p-1
// in backward, in memory for a block of scores, and with the same work on each rank where balanced.
#include "exercises/08_model_parallel/ring_attention.hpp"

#include <c10/core/GradMode.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/08_model_parallel/attention_memory.hpp"
#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/08_model_parallel/whole_attention.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

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
    holds_blocks_of_scores();
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
