// quorum_step: replicas go on without those that die. First quorum(), by what is known at one
// moment; then replicas that are threads of a virtual time, and die at every message; at the end
// they are processes, and a real one dies.
#include "exercises/10_elastic/quorum_step.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

// ---- what is known of replicas at one moment, and the quorum that must come of it

constexpr Ms kNow = 1h;
constexpr QuorumSettings kTwo = {.min_replicas = 2, .join_timeout = 1000ms, .dead_after = 300ms};
constexpr QuorumSettings kOne = {.min_replicas = 1, .join_timeout = 1000ms, .dead_after = 300ms};

/// Lives, and asks since so long ago.
Replica asks(const std::string& name, std::int64_t step = 0, Ms ago = 0ms) {
    return {.name = name, .heard = kNow, .asked = kNow - ago, .step = step};
}

/// Lives, and does not ask.
Replica trains(const std::string& name, std::int64_t step = 0) {
    return {.name = name, .heard = kNow, .step = step};
}

/// Was heard so long ago.
Replica silent(Replica replica, Ms ago = 300ms) {
    replica.heard = kNow - ago;
    return replica;
}

Replica failed(Replica replica) {
    replica.failed = true;
    return replica;
}

/// A quorum whose members have names of one letter.
Quorum quorum_of(
    std::int64_t number, const std::string& members, std::int64_t step, std::vector<int> sources
) {
    Quorum made{.number = number, .step = step, .sources = std::move(sources)};
    for (const char name : members) {
        made.members.emplace_back(1, name);
    }
    return made;
}

std::string words(const std::optional<Quorum>& quorum) {
    return quorum ? text(
                        "quorum ", quorum->number, " of ", quorum->members, " at step ",
                        quorum->step, ", sources ", quorum->sources
                    )
                  : "no quorum";
}

/// What is known, and what must come of it.
struct Rule {
    std::string what;
    std::vector<Replica> replicas;
    std::optional<Quorum> expected;
    Quorum previous = {};
    QuorumSettings settings = kOne;
};

/// Asks for each, with the replicas in several orders.
void rules(const std::vector<Rule>& all) {
    on_one([&] {
        for (Rule rule : all) {
            for (std::size_t turn = 0; turn < rule.replicas.size(); ++turn) {
                std::rotate(rule.replicas.begin(), rule.replicas.begin() + 1, rule.replicas.end());
                const auto got = quorum(rule.replicas, rule.previous, rule.settings, kNow);
                INFO(rule.what << ": expected " << words(rule.expected) << ", got " << words(got));
                REQUIRE((got == rule.expected));
            }
        }
    });
}

// ---- members that take a step: whole numbers, so that every mean is exact

using Row = std::vector<float>;

constexpr std::size_t kParts[] = {5, 2};  // floats of a gradient, a call for each

/// Weights of replica `who`.
Row state_of(int who, std::size_t n = 9) {
    Row state(n);
    std::iota(state.begin(), state.end(), static_cast<float>(1000 * (who + 1)));
    return state;
}

/// What a rank has before an all_reduce. One that heals has nonsense.
Row gradient_of(const Quorum& quorum, int rank, std::size_t n) {
    Row row(n, 1e6F);
    for (std::size_t i = 0; i < n && !quorum.heals(rank); ++i) {
        row[i] = static_cast<float>(12 * (1 + (i + static_cast<std::size_t>(rank)) % 7));
    }
    return row;
}

/// Compares with the mean over the participants.
Comparison is_mean(const Row& got, const Quorum& quorum) {
    const auto mean = [&](bool all_add, std::size_t by) {
        Row row(got.size());
        for (int rank = 0; rank < std::ssize(quorum.members); ++rank) {
            if (all_add || !quorum.heals(rank)) {
                const Row its = gradient_of(quorum, rank, row.size());
                std::ranges::transform(row, its, row.begin(), std::plus());
            }
        }
        std::ranges::for_each(row, [&](float& x) { x /= static_cast<float>(by); });
        return row;
    };
    const std::size_t k = quorum.participants().size();
    return same(
        got, mean(false, k), 0,
        {{mean(false, quorum.members.size()), "as if the sum were divided by all members"},
         {mean(true, k), "as if the gradient of one that heals counted"}}
    );
}

/// Computes for so long, and then makes the calls of a step. Returns whether it counts.
bool attempt(
    Place& me, QuorumStep& step, const Quorum& quorum, Ms computes = 10ms, bool errs = false
) {
    step.begin(quorum, me.transport);
    me.sleep(computes);
    std::vector<Row> gradients;
    for (const std::size_t n : kParts) {
        gradients.push_back(gradient_of(quorum, me.rank, n));
        step.all_reduce(gradients.back());
    }
    if (errs) {
        step.report_error();
    }
    const bool counts = step.should_commit();
    for (const Row& gradient : gradients) {
        const Comparison mean = is_mean(gradient, quorum);
        must(!counts || mean.equal, mean.text);
    }
    return counts;
}

/// All live, and the end of one message throws.
class ErringTransport : public WorldTransport {
  public:
    ErringTransport(Place& me, int message) : WorldTransport(me.world, me.rank), left_(message) {}

    bool test(const Request& request) override {
        const bool is_done = WorldTransport::test(request);
        if (is_done && --left_ == 0) {
            throw Error("the connection was cut off");
        }
        return is_done;
    }

  private:
    int left_;
};

/// A replica is where it must be after should_commit().
void must_have(
    const Row& state,
    const Row& expected,
    const QuorumStep& step,
    std::int64_t steps,
    TestLine at = TestLine::here()
) {
    must({step.step() == steps, at}, "step() has to be ", steps, ", and is ", step.step());
    const Comparison result = same(state, expected);
    must({result.equal, at}, "not the weights that it must have: ", result.text);
}

/// A quorum of p members that are all up to date, with two steps behind them.
Quorum up_to_date(int p, std::int64_t number = 1) {
    std::vector<int> sources(static_cast<std::size_t>(p));
    std::iota(sources.begin(), sources.end(), 0);
    return quorum_of(number, std::string("abcd").substr(0, sources.size()), 2, sources);
}

}  // namespace

TEST_CASE("quorum: min_replicas have to ask, and the first of them waits join_timeout for others") {
    const Replica late = asks("b", 0, 10ms);
    const Quorum pair = quorum_of(1, "ab", 0, {0, 0});
    rules({
        {"nobody asks", {trains("a"), trains("b")}, {}},
        {"one of two asks", {asks("a", 0, 1h), silent(trains("b"))}, {}, {}, kTwo},
        {"all that live ask", {asks("a"), asks("b")}, pair, {}, kTwo},
        {"c lives; a asks for 999 ms", {asks("a", 0, 999ms), late, trains("c")}, {}},
        {"c lives; a asks for 1 s", {asks("a", 0, 1000ms), late, trains("c")}, pair},
        {"c has died", {asks("a"), asks("b"), silent(trains("c"))}, pair},
    });
}

TEST_CASE("quorum: half of those that live are no quorum, however long they ask") {
    on_one([] {
        for (int n = 1; n <= 6; ++n) {
            for (int asking = 1; asking <= n; ++asking) {
                std::vector<Replica> replicas;
                for (int i = 0; i < n; ++i) {
                    replicas.push_back(i < asking ? asks(text(i), 3, 1h) : trains(text(i)));
                    replicas.push_back(silent(asks(text("dead ", i), 3, 1h)));
                }
                INFO(asking << " of " << n << " that live ask, and as many are dead");
                const auto got = quorum(replicas, {}, kOne, kNow);
                REQUIRE((got ? std::ssize(got->members) : 0) == (2 * asking > n ? asking : 0));
            }
        }
    });
}

TEST_CASE("quorum: who was heard dead_after ago is dead, whatever it asked") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Replica a = asks("a", 7);
    const Replica b = asks("b", 7);
    const Replica c = asks("c", 9, 1h);
    rules({
        {"c was heard 300 ms ago", {a, b, silent(c)}, quorum_of(1, "ab", 7, {0, 1})},
        {"c was heard 299 ms ago", {a, b, silent(c, 299ms)}, quorum_of(1, "abc", 9, {2, 2, 2})},
        {"b has died, c and d live", {a, silent(b), trains("c"), trains("d")}, {}, pair},
    });
}

TEST_CASE("quorum: it is fast if all of the previous quorum ask again, and takes in who asks too") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Quorum abd = quorum_of(4, "abd", 7, {0, 1, 2});
    const Replica a = asks("a", 8);
    const Replica b = asks("b", 8);
    const Replica c = asks("c");
    const Replica d = trains("d");
    rules({
        {"others live", {a, b, trains("c"), d}, quorum_of(4, "ab", 8, {0, 1}), pair},
        {"c asks, d lives", {a, b, c, d}, quorum_of(5, "abc", 8, {0, 1, 0}), pair},
        {"d was there and lives, and c asks", {a, b, c, d}, {}, abd},
        {"d was there; a asks for 1 s",
         {asks("a", 8, 1s), b, d},
         quorum_of(5, "ab", 8, {0, 1}),
         abd},
        {"there is no previous one", {a, b, trains("c")}, {}},
    });
}

TEST_CASE("quorum: the number goes up unless the same members ask, and none of them failed") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Replica a = asks("a", 8);
    const Replica b = asks("b", 8);
    rules({
        {"the first", {a, b}, quorum_of(1, "ab", 8, {0, 1})},
        {"the same", {a, b}, quorum_of(4, "ab", 8, {0, 1}), pair},
        {"the same, and b failed", {a, failed(b)}, quorum_of(5, "ab", 8, {0, 1}), pair},
        {"one less", {a, silent(b)}, quorum_of(5, "a", 8, {0}), pair},
        {"another in the place of b", {a, asks("c", 8)}, quorum_of(5, "ac", 8, {0, 0}), pair},
    });
}

TEST_CASE("quorum: who is below the highest step heals, each from another one that is there") {
    const Replica a = asks("a", 5, 1h);
    const Replica b = asks("b", 4, 1h);
    const Replica c = asks("c", 5);
    rules({
        {"c does not ask, and is at step 6", {a, b, trains("c", 6)}, quorum_of(1, "ab", 5, {0, 0})},
        {"a, c and e are at step 5",
         {a, b, c, asks("d", 3), asks("e", 5), asks("f", 1), asks("g")},
         quorum_of(1, "abcdefg", 5, {0, 0, 2, 2, 4, 4, 0})},
    });
}

TEST_CASE("quorum: at step 0 all copy from one") {
    rules({
        {"alone", {asks("a")}, quorum_of(1, "a", 0, {0})},
        {"three", {asks("a"), asks("b"), asks("c")}, quorum_of(1, "abc", 0, {0, 0, 0})},
        {"b and c tried before",
         {asks("a"), failed(asks("b")), failed(asks("c"))},
         quorum_of(2, "abc", 0, {1, 1, 1}),
         quorum_of(1, "bc", 0, {0, 0})},
    });
}

TEST_CASE("quorum: who was away heals from one at the same step that was not") {
    const Quorum pair = quorum_of(4, "cd", 5, {0, 1});
    const Replica b = asks("b", 6);
    const Replica c = asks("c", 5);
    const Replica d = asks("d", 5);
    const Quorum level = quorum_of(5, "bcd", 6, {1, 1, 2});
    rules({
        {"b was away, and is at the same step", {b, asks("c", 6), asks("d", 6)}, level, pair},
        {"b was away, and is ahead", {b, c, d}, quorum_of(5, "bcd", 6, {0, 0, 0}), pair},
        {"all were away", {asks("a", 6), asks("b", 6)}, quorum_of(5, "ab", 6, {0, 1}), pair},
    });
}

TEST_CASE("members take the steps together, and each all_reduce leaves the mean, at any length") {
    worlds({1, 2, 3, 4}, [](World& world) {
        const auto p = static_cast<std::size_t>(world.size());
        std::vector<Row> means(p, Row(100));  // of numbers with roundings, by rank
        world.slowest = 3ms;
        world.play([&](Place& me) {
            Row state = state_of(0);
            QuorumStep step(state, 2);
            Quorum quorum = up_to_date(me.p);
            for (; quorum.step < 5; ++quorum.step) {
                step.begin(quorum, me.transport);
                for (const std::size_t n : {std::size_t{0}, p - 1, p, p + 1, std::size_t{1000}}) {
                    Row gradient = gradient_of(quorum, me.rank, n);
                    step.all_reduce(gradient);
                    const Comparison mean = is_mean(gradient, quorum);
                    must(mean.equal, n, " floats, ", mean.text);
                }
                for (int i = 0; float& rough : means[me.rank]) {
                    rough = 1 / static_cast<float>(3 * i++ + me.rank + 3);
                }
                step.all_reduce(means[me.rank]);
                must(step.should_commit(), "nothing went wrong, and the step does not count");
                must_have(state, state_of(0), step, quorum.step + 1);
            }
        });
        for (std::size_t rank = 1; rank < p; ++rank) {
            INFO("the mean on rank " << rank << ", beside rank 0's");
            CHECK(same(means[rank], means[0]));
        }
    });
}

TEST_CASE("quorum_step costs 2(p - 1) messages an all_reduce, of n / p floats; a vote; the copies"
) {
    worlds({1, 2, 3, 4}, [](World& world) {
        const long others = world.size() - 1;
        world.play([&](Place& me) {
            Row state = state_of(me.rank, 75);
            QuorumStep step(state);
            Quorum quorum = up_to_date(me.p);
            std::ranges::fill(quorum.sources, 0);
            step.begin(quorum, me.transport);
            Row gradient(60);
            step.all_reduce(gradient);
            step.all_reduce(std::span(gradient).first(12));
            step.should_commit();
        });
        for (int rank = 0; rank < world.size(); ++rank) {
            INFO("all_reduce of 60 and of 12 floats, on rank " << rank);
            long sent = 0;
            long sent_bytes = 0;
            for (int dst = 0; dst < world.size(); ++dst) {
                sent += world.edge(rank, dst).messages;
                sent_bytes += world.edge(rank, dst).bytes;
            }
            const long votes = rank == 0 ? others : 1;
            const long copies = rank == 0 ? others : 0;
            CHECK(sent == 2L * 2 * others + votes + copies);
            CHECK(sent_bytes <= 4 * (2L * others * 72 / world.size() + copies * 75) + 16 * votes);
        }
    });
}

TEST_CASE("one no, and nobody steps, but who has copied keeps it; tried again, it counts once") {
    worlds({3}, [](World& world) {
        const int who = static_cast<int>(world.seed % 3);
        world.play([&](Place& me) {
            Row state = state_of(me.rank);
            QuorumStep step(state, me.rank == 1 ? 2 : 0);
            must(
                !attempt(me, step, quorum_of(1, "abc", 2, {1, 1, 1}), 10ms, me.rank == who),
                "rank ", who, " of 3 reports an error, and the step counts"
            );
            must_have(state, state_of(1), step, 2);
            must(attempt(me, step, up_to_date(3, 2)), "the next attempt does not count");
            must_have(state, state_of(1), step, 3);
        });
    });
}

TEST_CASE("an Error of the transport in all_reduce is noted, and the step does not count") {
    for (const int message : {1, 2, 5}) {
        worlds({3}, [&](World& world) {
            world.play([&](Place& me) {
                ErringTransport transport(me, me.rank == 1 ? message : 0);
                Row state = state_of(0);
                QuorumStep step(state, 2);
                step.begin(up_to_date(3), transport);
                for (const std::size_t n : kParts) {
                    Row gradient(n);
                    step.all_reduce(gradient);
                }
                must(!step.should_commit(), "message ", message, " of rank 1 has failed");
                must_have(state, state_of(0), step, 2);
            });
        });
    }
}

TEST_CASE("who heals has its source's weights and step, and adds nothing; others heal next") {
    worlds({4}, [](World& world) {
        world.slowest = 3ms;
        world.play([](Place& me) {
            const bool is_new = me.rank == 0 || me.rank == 2;
            Row state = state_of(is_new ? me.rank : 1);
            QuorumStep step(state, is_new ? 0 : 2);
            const Quorum two = quorum_of(1, "abcd", 2, {1, 1, 3, 3});
            must(attempt(me, step, two), "the step does not count");
            must_have(state, state_of(1), step, 3);
            std::ranges::copy(state_of(me.rank), state.begin());
            const Quorum next = quorum_of(2, "abcd", 3, {2, 2, 2, 2});
            must(attempt(me, step, next), "the step does not count");
            must_have(state, state_of(2), step, 4);
        });
    });
}

TEST_CASE("while one copies, the others compute") {
    worlds({3}, [](World& world) {
        world.buffered = true;
        world.bytes_per_ms = 8;  // a second for a copy
        world.play([](Place& me) {
            Row state = state_of(me.rank, 2000);
            QuorumStep step(state);
            must(attempt(me, step, quorum_of(1, "abc", 0, {0, 0, 0}), 800ms), "it does not count");
            must(
                me.now() < 1500ms, "a copy takes 1000 ms, a gradient 800, and the step ", me.now(),
                ": one waits for the other"
            );
            must_have(state, state_of(0, 2000), step, 1);
        });
    });
}

TEST_CASE("a source that dies while one copies from it leaves it with its own weights and step") {
    for (const int source : {0, 1, 2}) {
        worlds({3}, [&](World& world) {
            for (int other = 0; other < 3; ++other) {
                world.edge(source, other).tears_at = 0;
            }
            world.play([&](Place& me) {
                Row state = state_of(me.rank);
                QuorumStep step(state, me.rank == source ? 2 : 1);
                me.sleep(me.rank == source ? 20ms : 0ms);
                must(
                    !attempt(me, step, quorum_of(1, "abc", 2, {source, source, source})),
                    "half of the weights of rank ", source, " have come, and the step counts"
                );
                must_have(state, state_of(me.rank), step, 1);
            });
            CHECK(world.dead(source));
        });
    }
}

TEST_CASE("one dies at each message of a step: it counts where all have voted yes") {
    on_one([] {
        for (const int p : {2, 3, 4}) {
            const int reduced = 2 * 2 * (p - 1);  // messages from a rank, before the votes
            for (int victim = 0; victim < p; ++victim) {
                const int votes = victim == 0 ? p - 1 : 1;
                for (int last = 0; last <= reduced + votes; ++last) {
                    World world(p, static_cast<std::uint64_t>(last));
                    world.buffered = true;
                    int sent = 0;
                    world.before = [&](int rank, std::string_view call, int, std::size_t) {
                        if (sent == last) {
                            world.kill(victim);
                        } else if (rank == victim && call == "isend") {
                            ++sent;
                        }
                    };
                    int told_yes = 0;
                    world.play([&](Place& me) {
                        Row state = state_of(0);
                        QuorumStep step(state, 2);
                        const bool counts = attempt(me, step, up_to_date(p));
                        told_yes += counts && me.rank != victim ? 1 : 0;
                        must_have(state, state_of(0), step, counts ? 3 : 2);
                    });
                    INFO(
                        "of " << p << " ranks, " << victim << " dies after " << last
                              << " messages, of " << reduced << " in all_reduce, and " << votes
                              << " in should_commit"
                    );
                    const int yes = std::max(0, last - reduced);
                    REQUIRE(told_yes == (victim == 0 ? yes : yes * (p - 1)));
                }
            }
        }
    });
}

TEST_CASE("begin() refuses a transport that has not a rank for each member") {
    on_one([] {
        World world(2);
        WorldTransport transport(world, 0);
        Row row(4);
        QuorumStep step(row, 5);
        CHECK(step.step() == 5);
        for (const Quorum& other : {up_to_date(3), up_to_date(1)}) {
            CHECK(thrown_as([&] { step.begin(other, transport); }) == kInvalidArgument);
        }
    });
}

TEST_CASE("on processes: two heal; then one is killed, and the step does not count") {
    on_one([] {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
                Row row(1000, static_cast<float>(rank + 1));
                Row gradient(7, rank == 0 ? 3.0F : 1e6F);
                QuorumStep step(row);
                step.begin(quorum_of(1, "abc", 0, {0, 0, 0}), transport);
                step.all_reduce(gradient);
                CHECK(step.should_commit());
                CHECK(row == Row(1000, 1));
                CHECK(gradient == Row(7, 3));  // rank 0's: two heal
                step.begin(quorum_of(1, "abc", 1, {0, 1, 2}), transport);
                if (rank == 2) {
                    raise(SIGKILL);
                }
                step.all_reduce(gradient);
                CHECK(!step.should_commit());
                CHECK(step.step() == 1);
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
