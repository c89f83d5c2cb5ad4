// quorum_step: replicas go on without those that die. First quorum(), by what is known at one
// moment; then replicas that are threads of a virtual time, and die at every message; at the end
// they are processes, and a real one dies.
#include "exercises/10_elastic/quorum_step.hpp"

#include <cmath>
#include <csignal>

#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/10_elastic/quorum_deaths.hpp"
#include "tests/10_elastic/quorum_healing.hpp"
#include "tests/10_elastic/quorum_rules.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Each rank sends its row to rank 0, which compares.
void has_rank_0s_bits(const Row& row, Transport& transport) {
    constexpr std::uint32_t kGroup = 99;
    if (transport.rank() > 0) {
        transport.send(std::as_bytes(std::span(row)), 0, kGroup, 0);
        return;
    }
    for (int rank = 1; rank < transport.size(); ++rank) {
        Row other(row.size());
        transport.recv(std::as_writable_bytes(std::span(other)), rank, kGroup, 0);
        const Comparison equal = same(other, row);
        INFO("the mean on rank " << rank << ", beside rank 0's");
        CHECK(equal);
    }
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
        {"c lives; b asks for 1 s", {asks("a"), asks("b", 0, 1000ms), trains("c")}, pair},
        {"c has died", {asks("a"), asks("b"), silent(trains("c"))}, pair},
    });
}

TEST_CASE("quorum: half of those that live are no quorum, however long they ask") {
    on_ranks({1}, [](const Communicator&) {
        for (unsigned n = 1; n <= 6; ++n) {
            for (unsigned set = 1; set < 1U << n; ++set) {
                std::vector<Replica> replicas;
                std::size_t asking = 0;
                for (unsigned i = 0; i < n; ++i) {
                    const std::string name(1, static_cast<char>('a' + i));
                    const bool is_asking = (set >> i & 1U) != 0;
                    asking += is_asking ? 1 : 0;
                    replicas.push_back(is_asking ? asks(name, 3, 1h) : trains(name));
                    replicas.push_back(silent(asks("x" + name, 3, 1h)));  // the dead count nowhere
                }
                INFO(asking << " of " << n << " that live ask, and as many are dead");
                const auto got = quorum(replicas, {}, kOne, kNow);
                REQUIRE(got.has_value() == (2 * asking > n));
                REQUIRE((!got || got->members.size() == asking));
            }
        }
    });
}

TEST_CASE("quorum: who was heard dead_after ago is dead, whatever it asked") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    rules({
        {"c asked, and was heard 300 ms ago",
         {asks("a", 7), asks("b", 7), silent(asks("c", 9, 1h))},
         quorum_of(1, "ab", 7, {0, 1})},
        {"c asked, and was heard 299 ms ago",
         {asks("a", 7), asks("b", 7), silent(asks("c", 9, 1h), 299ms)},
         quorum_of(1, "abc", 9, {2, 2, 2})},
        {"b of the previous quorum asked and has died, c and d live",
         {asks("a", 8), silent(asks("b", 8)), trains("c"), trains("d")},
         {},
         pair},
    });
}

TEST_CASE("quorum: it is fast if all of the previous quorum ask again, and takes in who asks too") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Quorum three = quorum_of(4, "abd", 7, {0, 1, 2});
    const Replica a = asks("a", 8);
    const Replica b = asks("b", 8);
    rules({
        {"others live", {a, b, trains("c"), trains("d")}, quorum_of(4, "ab", 8, {0, 1}), pair},
        {"c asks, d lives",
         {a, b, asks("c"), trains("d")},
         quorum_of(5, "abc", 8, {0, 1, 0}),
         pair},
        {"d was there and lives", {a, b, trains("d")}, {}, three},
        {"d was there and lives, and c asks", {a, b, asks("c"), trains("d")}, {}, three},
        {"d was there and lives, and a asks for 1 s",
         {asks("a", 8, 1000ms), b, trains("d")},
         quorum_of(5, "ab", 8, {0, 1}),
         three},
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
        {"one more", {a, b, asks("c", 8)}, quorum_of(5, "abc", 8, {0, 1, 0}), pair},
        {"one less", {a, silent(b)}, quorum_of(5, "a", 8, {0}), pair},
        {"another in the place of b", {a, asks("c", 8)}, quorum_of(5, "ac", 8, {0, 0}), pair},
    });
}

TEST_CASE("quorum: who is below the highest step heals, each from another one that is there") {
    rules({
        {"all are there", {asks("a", 5), asks("b", 5)}, quorum_of(1, "ab", 5, {0, 1})},
        {"b is ahead",
         {asks("a", 4), asks("b", 5), asks("c", 4)},
         quorum_of(1, "abc", 5, {1, 1, 1})},
        {"a, c and e are at step 5",
         {asks("a", 5), asks("b", 3), asks("c", 5), asks("d", 4), asks("e", 5), asks("f", 1),
          asks("g")},
         quorum_of(1, "abcdefg", 5, {0, 0, 2, 2, 4, 4, 0})},
        {"the dead are at no step",
         {asks("a", 5), asks("b", 4), silent(asks("c", 6))},
         quorum_of(1, "ab", 5, {0, 0})},
        {"who does not ask is at no step",
         {asks("a", 5, 1h), asks("b", 4, 1h), trains("c", 6)},
         quorum_of(1, "ab", 5, {0, 0})},
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

TEST_CASE(
    "quorum: who was away heals from one at the same step that was not, but is copied if it is "
    "ahead"
) {
    const Quorum pair = quorum_of(4, "cd", 5, {0, 1});
    rules({
        {"b was away, and is at the same step",
         {asks("b", 6), asks("c", 6), asks("d", 6)},
         quorum_of(5, "bcd", 6, {1, 1, 2}),
         pair},
        {"b was away, and is ahead",
         {asks("b", 6), asks("c", 5), asks("d", 5)},
         quorum_of(5, "bcd", 6, {0, 0, 0}),
         pair},
        {"all were away", {asks("a", 6), asks("b", 6)}, quorum_of(5, "ab", 6, {0, 1}), pair},
    });
}

TEST_CASE("replicas that nothing disturbs take each step at once, in one quorum") {
    with_scenes([](std::uint64_t seed) {
        for (const int p : {1, 2, 3, 4}) {
            INFO(p << " replicas");
            QuorumScene scene(p, seed);
            REQUIRE(scene.play());
            REQUIRE(scene.quorums.back().number == 1);
            for (const Life& life : scene.lives) {
                REQUIRE(life.commits == std::vector<bool>(3, true));
            }
        }
    });
}

TEST_CASE(
    "quorum_step costs 2(p - 1) messages an all_reduce, of n / p floats; a vote; and the copies"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const int p : {1, 2, 3, 4}) {
            QuorumScene scene(p);
            scene.training.layers = {60, 12};
            REQUIRE(scene.play());
            for (const Life& life : scene.lives) {
                INFO(p << " replicas, 3 steps, of 60 and 12 floats; replica " << life.name);
                const bool is_first = life.name == "a";
                const long others = p - 1;
                const long votes = p > 1 ? 3 * (is_first ? others : 1L) : 0L;
                const long copies = is_first ? others : 0;
                CHECK(life.fate.sent == 2L * 3 * 2 * others + votes + copies);
                const long floats = 2L * 3 * others * 72 / p + copies * 75;
                CHECK(life.fate.sent_bytes <= 4 * floats + 16 * votes);
            }
        }
    });
}

TEST_CASE("one no, and nobody steps; the step is tried again, and counts once") {
    with_scenes([](std::uint64_t seed) {
        for (const std::size_t who : {0, 1, 2}) {
            QuorumScene scene(3, seed);
            scene.lives[who].errs_in = 1;
            REQUIRE(scene.play());
            for (const Life& life : scene.lives) {
                INFO("number " << who << " of 3 (0 is a) reports an error in the second attempt");
                REQUIRE(life.commits == std::vector<bool>{true, false, true, true});
            }
        }
    });
}

TEST_CASE("who comes late heals in a step of the others, adds nothing to it, and is their equal") {
    heal_in_a_step_of_the_others();
}

TEST_CASE("while one copies, the others compute") {
    compute_while_one_copies();
}

TEST_CASE("a source that dies while one copies from it leaves it with its own weights and step") {
    lose_the_source();
}

TEST_CASE("who has copied keeps it, also if the step does not count") {
    keep_the_copy();
}

TEST_CASE("who dies in an all_reduce keeps nobody waiting, there or in the next one") {
    die_in_the_first_all_reduce();
}

TEST_CASE("who dies before its vote has said no, and who dies after it yes") {
    die_in_the_vote();
}

TEST_CASE("rank 0 dies while it tells: who was not told heals from those that were") {
    die_while_it_tells(false);
}

TEST_CASE("a step that one took alone before it stood still is not taken for the others' one") {
    die_while_it_tells(true);
}

TEST_CASE("two replicas, of which one dies at each message of two steps") {
    die_at_every_message(2);
}

TEST_CASE("three replicas, of which one dies at each message of two steps") {
    die_at_every_message(3);
}

TEST_CASE("four replicas, of which one dies at each message of two steps") {
    die_at_every_message(4);
}

TEST_CASE("half of the replicas do not begin without the others") {
    half_do_not_begin();
}

TEST_CASE("replicas that come late, are slow, err and die by chance") {
    lives_of_replicas();
}

TEST_CASE("begin() refuses a transport that has not a rank for each member") {
    on_ranks({1}, [](const Communicator&) {
        VirtualTime time(1);
        BarrierNetwork network(time, 2);
        BarrierTransport transport(network, 0);
        Row row(4);
        QuorumStep step(row, 5);
        CHECK(step.step() == 5);
        const Quorum three = quorum_of(1, "abc", 5, {0, 1, 2});
        CHECK_THROWS_AS(step.begin(three, transport), std::invalid_argument);
    });
}

TEST_CASE("on processes: all have the same bits; then one is killed, and the step does not count") {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
                Row row(1000, static_cast<float>(rank + 1));
                Row gradient(7, 3);
                QuorumStep step(row);
                step.begin(quorum_of(1, "abc", 0, {0, 0, 0}), transport);
                step.all_reduce(gradient);
                Row zero(3, -0.0F);
                step.all_reduce(zero);
                CHECK(step.should_commit());
                {
                    INFO("the mean of one -0, while two heal");
                    CHECK(std::signbit(zero[0]));
                }
                CHECK(gradient == Row(7, 3));
                CHECK(row == Row(1000, 1));
                step.begin(quorum_of(1, "abc", 1, {0, 1, 2}), transport);
                Row rough(100);
                for (std::size_t i = 0; i < rough.size(); ++i) {
                    rough[i] = 1 / static_cast<float>(3 * i + static_cast<std::size_t>(rank) + 3);
                }
                step.all_reduce(rough);
                CHECK(step.should_commit());
                has_rank_0s_bits(rough, transport);
                step.begin(quorum_of(1, "abc", 2, {0, 1, 2}), transport);
                if (rank == 2) {
                    raise(SIGKILL);
                }
                step.all_reduce(gradient);
                CHECK(!step.should_commit());
                CHECK(step.step() == 2);
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
