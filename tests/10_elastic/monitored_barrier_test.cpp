// What a monitored barrier must do: all leave it, or each that came names the same ranks that are missing. Ranks are threads of
// a virtual time, so a timeout costs none; at the end they are processes, and a real one dies.
#include "exercises/10_elastic/monitored_barrier.hpp"

#include <csignal>

#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/10_elastic/barrier_lives.hpp"
#include "tests/10_elastic/barrier_scene.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("monitored_barrier: nobody leaves before all have come, whoever comes last") {
    with_seeds([](std::uint64_t seed) {
        for (const int p : {1, 2, 3, 4, 5}) {
            for (int last = 0; last < p; ++last) {
                INFO("ranks: " << p << ", rank " << last << " comes last");
                Scene scene(p, seed);
                for (int rank = 0; rank < p; ++rank) {
                    scene.calls_of(rank) = {{.at = rank == last ? 100ms : 10ms * rank}};
                }
                REQUIRE(scene.play());
                REQUIRE(scene.all_leave());
            }
        }
    });
}

TEST_CASE("monitored_barrier costs a message from each rank to rank 0, and one back") {
    with_seeds([](std::uint64_t seed) {
        for (const int p : {1, 2, 3, 5, 8}) {
            Scene scene(p, seed);
            for (int rank = 0; rank < p; ++rank) {
                scene.calls_of(rank) = {{.at = 10ms * ((3 * rank) % p)}};
            }
            REQUIRE(scene.play());
            REQUIRE(scene.all_leave());
            for (int src = 0; src < p; ++src) {
                for (int dst = 0; dst < p; ++dst) {
                    INFO("ranks: " << p << "; messages from rank " << src << " to rank " << dst);
                    const long expected = src != dst && (src == 0 || dst == 0) ? 1 : 0;
                    REQUIRE(scene.network.edge(src, dst).messages == expected);
                }
            }
        }
    });
}

TEST_CASE(
    "monitored_barrier: all that came name exactly those that did not, when rank 0's timeout is "
    "over"
) {
    with_seeds([](std::uint64_t seed) {
        for (unsigned set = 1; set < 16; ++set) {
            Scene scene(5, seed);
            Ranks missing;
            Ranks there = {0};
            scene.calls_of(0) = {{.at = 30ms, .wait_all_ranks = set % 2 == 0}};
            for (int rank = 1; rank < 5; ++rank) {
                if ((set >> (rank - 1) & 1U) != 0) {
                    missing.push_back(rank);
                } else {
                    there.push_back(rank);
                    scene.calls_of(rank) = {{.at = 20ms * rank}};
                }
            }
            INFO("ranks that do not come: " << text_of(missing));
            REQUIRE(scene.play());
            REQUIRE(scene.miss(there, missing, 230ms));
        }
    });
}

TEST_CASE("monitored_barrier: the timeout is one for all ranks together") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}}, {{.at = 150ms}}, {{.at = 300ms}}, {}};
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1}, {2, 3}, 200ms));
    });
}

TEST_CASE("monitored_barrier: rank 0 looks before it asks for the time") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{{.at = 50ms, .timeout = 0ms}}, {{}}, {{}}};
        REQUIRE(scene.play());
        CHECK(scene.all_leave());
    });
}

TEST_CASE(
    "monitored_barrier: ranks wait for a late rank 0 for one timeout, and for its decision for "
    "another one"
) {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{{.at = 180ms}}, {{}}, {}};
        REQUIRE(scene.play());
        CHECK(scene.miss({1, 0}, {2}, 380ms));
    });
}

TEST_CASE("monitored_barrier: ranks that hear nothing of rank 0 for two timeouts miss it") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{}, {{}}, {{.at = 100ms}}};
        REQUIRE(scene.play());
        CHECK(scene.miss({1}, {0}, 400ms));
        CHECK(scene.miss({2}, {0}, 500ms));
    });
}

TEST_CASE("monitored_barrier: rank 0 that comes when others have given up does not leave alone") {
    with_seeds([](std::uint64_t seed) {
        for (const bool wait_all_ranks : {false, true}) {
            Scene scene(3, seed);
            scene.calls = {{{.at = 450ms, .wait_all_ranks = wait_all_ranks}}, {{}}, {{}}};
            REQUIRE(scene.play());
            CHECK(scene.miss({1, 2}, {0}, 400ms));
            CHECK(scene.miss({0}, {1, 2}, 450ms));
        }
    });
}

TEST_CASE("monitored_barrier: all meet again at the next call after rank 0 came too late") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{{.at = 450ms}, {.at = 460ms}}, {{}, {.at = 420ms}}, {{}, {.at = 430ms}}};
        REQUIRE(scene.play());
        CHECK(scene.miss({1, 2}, {0}, 400ms));
        CHECK(scene.miss({0}, {1, 2}, 450ms));
        CHECK(scene.all_leave(1));
    });
}

TEST_CASE("monitored_barrier: who comes too late is not taken for one that comes to the next call"
) {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{{}, {.at = 240ms}}, {{}, {.at = 230ms}}, {{.at = 250ms}, {.at = 320ms}}};
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1}, {2}, 200ms));
        CHECK(scene.all_leave(1));
    });
}

TEST_CASE("monitored_barrier: who comes too late hears at once who was missing") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}}, {{}}, {{.at = 250ms}}, {{.at = 150ms}}};
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1, 3}, {2}, 200ms));
        CHECK(scene.miss({2}, {2}, 250ms));
    });
}

TEST_CASE("monitored_barrier: a rank that has died before it came is missing at once") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}}, {{}}, {}, {{.at = 100ms}}};
        scene.dies[2] = 60ms;
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1}, {2}, 60ms));
        CHECK(scene.miss({3}, {2}, 100ms));
    });
}

TEST_CASE("monitored_barrier: a rank that dies after it came is missing at once") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}}, {{}}, {{}}, {{.at = 100ms}}};
        scene.dies[2] = 60ms;
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1}, {2}, 60ms));
    });
}

TEST_CASE(
    "monitored_barrier: with wait_all_ranks all others are waited for, and all missing ones named"
) {
    with_seeds([](std::uint64_t seed) {
        Scene scene(5, seed);
        const Call all{.wait_all_ranks = true};
        scene.calls = {{all}, {}, {all}, {}, {{.at = 100ms, .wait_all_ranks = true}}};
        scene.dies = {{1, 60ms}, {3, 70ms}};
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 2, 4}, {1, 3}, 100ms));  // nobody else can come
        Scene other(5, seed);
        other.calls = {{all}, {}, {all}, {}, {{.at = 100ms, .wait_all_ranks = true}}};
        other.dies[3] = 60ms;
        REQUIRE(other.play());
        CHECK(other.miss({0, 2, 4}, {1, 3}, 200ms));
    });
}

TEST_CASE("monitored_barrier: rank 0 is missing at once when it has died") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        scene.calls = {{{}, {}}, {{}, {.at = 100ms}}, {{.at = 80ms}}};
        scene.dies[0] = 60ms;
        REQUIRE(scene.play());
        CHECK(scene.miss({1}, {0}, 60ms));
        CHECK(scene.miss({2}, {0}, 80ms));
        CHECK(scene.miss({1}, {0}, 100ms, 1));
    });
}

TEST_CASE("monitored_barrier: a rank that dies while rank 0 lets all go keeps nobody back") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}, {.at = 50ms}}, {{}}, {{}, {.at = 50ms}}, {{}, {.at = 50ms}}};
        scene.network.dies_when_rank_0_sends = 1;
        REQUIRE(scene.play());
        CHECK(scene.all_leave(0, 1));
        CHECK(scene.miss({0, 2, 3}, {1}, 50ms, 1));
    });
}

TEST_CASE("monitored_barrier: a rank that takes no message keeps nobody back") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(4, seed);
        scene.calls = {{{}}, {{}}, {}, {{.at = 100ms}}};
        scene.network.edge(0, 2).is_full = true;
        REQUIRE(scene.play());
        CHECK(scene.miss({0, 1, 3}, {2}, 200ms));
        Scene other(3, seed);
        other.calls = {{}, {{}}, {{}}};
        other.network.edge(1, 0).is_full = true;
        REQUIRE(other.play());
        CHECK(other.miss({1, 2}, {0}, 400ms));
    });
}

TEST_CASE(
    "monitored_barrier: calls one after the other, in which ranks come, miss and die by chance"
) {
    lives_of_barriers();
}

TEST_CASE("monitored_barrier leaves at most one receive posted for each rank that it waits for") {
    with_seeds([](std::uint64_t seed) {
        Scene scene(3, seed);
        for (int number = 0; number < 6; ++number) {
            const Ms at = 500ms * number;
            scene.calls_of(0).push_back({.at = at});
            scene.calls_of(1).push_back({.at = at});
            if (number % 3 == 0) {
                scene.calls_of(2).push_back({.at = at});
            }
        }
        scene.calls_of(1).push_back({.at = 3000ms});
        REQUIRE(scene.play());
        for (int rank = 1; rank < 3; ++rank) {
            {
                INFO("receives that rank 0 has posted for rank " << rank);
                CHECK(scene.network.edge(rank, 0).posted.size() <= 1);
            }
            INFO("receives that rank " << rank << " has posted for rank 0");
            CHECK(scene.network.edge(0, rank).posted.size() <= 1);
        }
    });
}

TEST_CASE("monitored_barrier on processes: all leave; then one is killed, and the others name it") {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
                SteadyClock clock;
                MonitoredBarrier barrier(transport, 3, clock);
                barrier.wait(std::chrono::hours(1));
                if (rank == 2) {
                    raise(SIGKILL);
                }
                CHECK(error_has({"missing ranks: 2"}, [&] { barrier.wait(std::chrono::hours(1)); })
                );
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}

TEST_CASE(
    "monitored_barrier on processes: a rank that stands still behind a full connection is missing"
) {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(3, [](Transport& transport, int rank, int) {
            SteadyClock clock;
            MonitoredBarrier barrier(transport, 3, clock);
            std::vector<std::byte> data(kLong);
            std::byte go{};
            if (rank == 1) {
                transport.recv(std::span(&go, 1), 2, 0, 1);  // until then it looks at nothing
                transport.recv(data, 0, 0, 0);
                CHECK(error_has({"missing ranks: 1"}, [&] { barrier.wait(kTimeout); }));
                transport.send(std::span(&go, 1), 0, 0, 1);
                return;
            }
            const Request full = rank == 0 ? transport.isend(data, 1, 0, 0) : nullptr;
            CHECK(error_has({"missing ranks: 1"}, [&] { barrier.wait(kTimeout); }));
            if (rank == 2) {
                transport.send(std::span(&go, 1), 1, 0, 1);
            } else {
                transport.wait(full);
                transport.recv(std::span(&go, 1), 1, 0, 1);
            }
        });
        CHECK(run.passed);
    });
}
