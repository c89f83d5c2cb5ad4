// What a failure detector must see, and what it must not take for a death. Ranks take turns in one
// thread, on a time that the test moves; at the end they are processes, and one is stopped.
#include "exercises/10_elastic/heartbeat.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/10_elastic/heartbeat_lives.hpp"
#include "tests/10_elastic/heartbeat_processes.hpp"
#include "tests/10_elastic/heartbeat_scene.hpp"
#include "tests/10_elastic/heartbeat_stragglers.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

// When `rank`, which looks every 10 ms, takes what `other` sent last before 253 ms.
Ms hears(int rank, int other) {
    return 200ms + Ms(rank) + (rank > other ? 0ms : kLook);
}

}  // namespace

TEST_CASE(
    "heartbeat: who stands still is suspected after so many intervals, on clocks that are years "
    "apart"
) {
    in_one_thread([] {
        for (const int misses : {2, 3, 5}) {
            for (const int p : {2, 3, 5}) {
                for (int stopped = 0; stopped < p; ++stopped) {
                    INFO(
                        "misses: " << misses << ", ranks: " << p << "; rank " << stopped
                                   << " stands still from 253 ms on"
                    );
                    HeartbeatScene scene(p, with_misses(misses));
                    scene.pass(253ms);
                    scene.stop(stopped);
                    scene.pass(1000ms);
                    Story right;
                    for (int rank = 0; rank < p; ++rank) {
                        if (rank != stopped) {
                            const Ms at = hears(rank, stopped) + misses * kInterval;
                            right[{rank, stopped}] = {{at, suspected}};
                        }
                    }
                    REQUIRE(scene.is(right));
                }
            }
        }
    });
}

TEST_CASE("heartbeat: late and jittering messages, fewer than one an interval, are no silence") {
    in_one_thread([] {
        HeartbeatScene scene(4);
        std::uint64_t drawn = 0;
        for (int round = 0; round < 60; ++round) {
            for (int src = 0; src < 4; ++src) {
                for (int dst = 0; dst < 4; ++dst) {
                    scene.network.edge(src, dst).delay = Ms(seeded_bits(1, drawn++) % 191);
                }
            }
            scene.pass(kInterval);
        }
        CHECK(scene.is({}));
    });
}

TEST_CASE("heartbeat: a rank that looks once in 250 ms suspects nobody, and is not suspected") {
    in_one_thread([] {
        HeartbeatScene scene(3);
        scene.looks_every(1, 250ms);
        scene.pass(3000ms);
        CHECK(scene.is({}));
    });
}

TEST_CASE("heartbeat: who is heard again is alive again, at that look, each time") {
    in_one_thread([] {
        HeartbeatScene scene(3);
        scene.pass(253ms);
        scene.stop(2);
        scene.pass(747ms);
        scene.go_on(2);  // looks at 1002 ms, and beats from there on
        scene.pass(303ms);
        scene.stop(2);
        scene.pass(500ms);
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}, {1010ms, alive}, {1610ms, suspected}}},
            {{1, 2}, {{511ms, suspected}, {1011ms, alive}, {1611ms, suspected}}},
        }));
    });
}

TEST_CASE("heartbeat: a process that stood still takes nobody else for dead") {
    in_one_thread([] {
        for (const int misses : {2, 3}) {
            HeartbeatScene scene(4, with_misses(misses));
            scene.pass(555ms);
            INFO("misses: " << misses << "; at 555 ms all processes stand still for an hour");
            scene.network.now += 1h;
            scene.pass(1000ms);
            REQUIRE(scene.is({}));
        }
    });
}

TEST_CASE("heartbeat: what has come while a process stood still is taken at its first look") {
    in_one_thread([] {
        HeartbeatScene scene(2);
        scene.pass(253ms);
        scene.stop(0);
        scene.pass(1900ms);
        scene.step(1) = 5;
        scene.pass(100ms);
        scene.stop(1);  // at 2253 ms: it has just stopped when rank 0 goes on
        scene.go_on(0);
        scene.pass(10ms);
        CHECK(text_of(scene.last(0, 1)) == "alive, step 5, silent for 0 ms");
        scene.pass(500ms);
        CHECK(scene.is({
            {{0, 1}, {{2560ms, suspected}}},
            {{1, 0}, {{501ms, suspected}}},
        }));
    });
}

TEST_CASE("heartbeat: a clock that jumps makes nobody look dead, and the beats go on") {
    in_one_thread([] {
        for (const Ms jump : {Ms(1h), Ms(-1h), Ms(24h * 365)}) {
            INFO("at 505 ms the clock of rank 0 jumps by " << jump / 1s << " s");
            HeartbeatScene scene(3);
            scene.pass(505ms);
            scene.skew(0) += jump;
            scene.pass(748ms);
            scene.stop(2);  // at 1253 ms: a silence is seen all the same
            scene.pass(700ms);
            REQUIRE(scene.is({
                {{0, 2}, {{1510ms, suspected}}},
                {{1, 2}, {{1511ms, suspected}}},
            }));
        }
    });
}

TEST_CASE("heartbeat: where one way is cut, one side suspects, and the other one does not") {
    in_one_thread([] {
        HeartbeatScene scene(2);
        scene.pass(253ms);
        scene.network.edge(1, 0).delay = 1s;
        scene.pass(1500ms);
        CHECK(scene.is({{{0, 1}, {{510ms, suspected}, {1310ms, alive}}}}));
    });
}

TEST_CASE("heartbeat: a connection that has ended is a death known at once, and for good") {
    in_one_thread([] {
        HeartbeatScene scene(4);
        scene.pass(253ms);
        scene.stop(3);
        scene.pass(40ms);
        scene.step(2) = 9;
        scene.pass(10ms);
        scene.kill(2);  // at 303 ms, after its last beat
        scene.pass(200ms);
        CHECK(text_of(scene.last(0, 2)) == "dead, step 9, silent for 190 ms");
        scene.pass(200ms);
        scene.kill(3);  // at 703 ms: suspected before
        scene.pass(500ms);
        CHECK(scene.is({
            {{0, 2}, {{310ms, dead}}},
            {{1, 2}, {{311ms, dead}}},
            {{0, 3}, {{510ms, suspected}, {710ms, dead}}},
            {{1, 3}, {{511ms, suspected}, {711ms, dead}}},
        }));
        INFO("heartbeats that rank 0 has begun to send to rank 2, which died at 303 ms");
        CHECK(scene.network.edge(0, 2).begun.size() == 4);
    });
}

TEST_CASE("heartbeat: a straggler is more than max_lag steps behind, until it has caught up") {
    straggles_until_it_has_caught_up();
}

TEST_CASE("heartbeat: a straggler beats, and is told from a rank that stands still") {
    straggler_and_stopped_rank();
}

TEST_CASE("heartbeat: a rank that runs ahead makes no stragglers of two or more others") {
    runs_ahead();
}

TEST_CASE("heartbeat: the steps of ranks that are suspected or dead do not count") {
    steps_of_the_silent_do_not_count();
}

TEST_CASE("heartbeat: who has said nothing yet is no straggler, and suspected if it never does") {
    has_said_nothing_yet();
}

TEST_CASE("heartbeat costs a message from each rank to each other one in an interval") {
    in_one_thread([] {
        for (const int p : {1, 2, 3, 5}) {
            for (const Ms every : {10ms, 30ms, 250ms}) {
                const Ms period = every == 10ms ? 100ms : every == 30ms ? 120ms : 250ms;
                HeartbeatScene scene(p, with_misses(5));
                for (int rank = 0; rank < p; ++rank) {
                    scene.looks_every(rank, every);
                }
                scene.pass(1000ms);
                REQUIRE(scene.is({}));
                for (int src = 0; src < p; ++src) {
                    for (int dst = 0; dst < p; ++dst) {
                        std::vector<Ms> right;
                        for (Ms at(src); src != dst && at < 1000ms; at += period) {
                            right.push_back(at);
                        }
                        INFO(
                            "all look every " << text_of(every) << "; rank " << src
                                              << " begins heartbeats to rank " << dst
                        );
                        REQUIRE(text_of(scene.network.edge(src, dst).begun) == text_of(right));
                    }
                }
            }
        }
    });
}

TEST_CASE("heartbeat: a rank that takes no more messages holds nobody up, and has one on its way") {
    in_one_thread([] {
        HeartbeatScene scene(3);
        scene.pass(253ms);
        scene.stop(2);
        scene.network.edge(0, 2).is_full = true;
        scene.step(0) = 1;
        scene.pass(500ms);
        scene.step(0) = 2;
        scene.pass(500ms);
        {
            INFO("heartbeats of rank 0 that have not left for rank 2");
            CHECK(scene.network.edge(0, 2).held.size() == 1);
        }
        scene.network.open(0, 2);
        scene.go_on(2);
        scene.pass(10ms);
        CHECK(text_of(scene.last(2, 0)) == "alive, step 1, silent for 0 ms");
        scene.pass(300ms);
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}, {1270ms, alive}}},
            {{1, 2}, {{511ms, suspected}, {1271ms, alive}}},
        }));
        CHECK(scene.last(2, 0).step == 2);
        INFO("heartbeats of rank 0 to rank 1, which takes all");
        CHECK(scene.network.edge(0, 1).begun.size() == 16);
    });
}

TEST_CASE("heartbeat leaves at most one receive posted for each other rank") {
    in_one_thread([] {
        HeartbeatScene scene(3);
        scene.pass(253ms);
        scene.stop(2);
        scene.pass(1000ms);
        scene.go_on(2);
        scene.pass(500ms);
        for (int src = 0; src < 3; ++src) {
            for (int dst = 0; dst < 3; ++dst) {
                INFO("receives that rank " << dst << " has posted for rank " << src);
                CHECK(scene.network.edge(src, dst).posted.size() <= 1);
            }
        }
    });
}

TEST_CASE("heartbeat: looks of ranks that stop, go on, die, and whose clocks jump, by chance") {
    lives_of_ranks();
}

TEST_CASE("heartbeat refuses settings that make no sense") {
    in_one_thread([] {
        const HeartbeatSettings wrong[] = {
            {.interval = 0ms}, {.interval = -1ms}, {.misses = 1}, {.misses = 0}, {.max_lag = -1}};
        for (const HeartbeatSettings& settings : wrong) {
            INFO(
                "interval " << text_of(settings.interval) << ", misses " << settings.misses
                            << ", max_lag " << settings.max_lag
            );
            CHECK_THROWS_AS(HeartbeatScene(2, settings), std::invalid_argument);
        }
    });
}

TEST_CASE("heartbeat on processes: one is stopped, and suspected; it goes on, and lives; it leaves"
) {
    stopped_process();
}
