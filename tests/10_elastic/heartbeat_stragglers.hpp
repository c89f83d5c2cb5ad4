// Ranks that are behind, and by whose steps that is judged. Each function is a TEST_CASE's body.
#pragma once

#include <utility>

#include "tests/10_elastic/heartbeat_scene.hpp"

namespace dist::harness {

inline void straggles_until_it_has_caught_up() {
    in_one_thread([] {
        for (const auto& [max_lag, lag] : {std::pair{10, 10}, {10, 11}, {0, 0}, {0, 1}}) {
            INFO("ranks 0 and 1 are " << lag << " steps ahead; max_lag is " << max_lag);
            HeartbeatSettings settings = with_misses(3);
            settings.max_lag = max_lag;
            HeartbeatScene scene(3, settings);
            scene.network.steps = {100, 100, 100};
            scene.pass(450ms);
            scene.step(0) += lag;
            scene.step(1) += lag;
            scene.pass(300ms);
            scene.step(2) += 1;
            scene.pass(200ms);
            const Story behind = {
                {{0, 2}, {{510ms, straggler}, {810ms, alive}}},
                {{1, 2}, {{501ms, straggler}, {811ms, alive}}},
                {{2, 2}, {{502ms, straggler}, {752ms, alive}}},
            };
            REQUIRE(scene.is(lag > max_lag ? behind : Story{}));
        }
    });
}

inline void straggler_and_stopped_rank() {
    in_one_thread([] {
        HeartbeatScene scene(4);
        for (int round = 0; round < 6; ++round) {
            scene.pass(50ms);
            scene.step(0) += 4;
            scene.step(1) += 4;
            scene.step(2) += 4;
            scene.step(3) += 1;
            if (round == 2) {
                scene.stop(2);  // at 250 ms; it has said step 8
            }
            scene.pass(50ms);
        }
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}}},
            {{1, 2}, {{501ms, straggler}, {511ms, suspected}}},
            {{3, 2}, {{503ms, suspected}}},
            {{0, 3}, {{410ms, straggler}}},
            {{1, 3}, {{401ms, straggler}}},
            {{3, 3}, {{403ms, straggler}}},
        }));
    });
}

inline void runs_ahead() {
    in_one_thread([] {
        for (const int p : {3, 4, 5}) {
            INFO("ranks: " << p);
            HeartbeatScene scene(p);
            scene.pass(450ms);
            scene.step(1) = 1000;
            scene.pass(500ms);
            REQUIRE(scene.is({}));
        }
        HeartbeatScene scene(2);
        scene.pass(450ms);
        scene.step(1) = 1000;
        scene.pass(500ms);
        CHECK(scene.is({
            {{0, 0}, {{510ms, straggler}}},
            {{1, 0}, {{451ms, straggler}}},
        }));
    });
}

inline void steps_of_the_silent_do_not_count() {
    in_one_thread([] {
        for (const bool die : {false, true}) {
            HeartbeatScene scene(5);
            scene.pass(150ms);
            scene.network.steps = {11, 11, 0, 6, 6};  // rank 2 is 6 behind the median
            scene.pass(103ms);
            INFO("ranks 3 and 4 " << (die ? "die" : "stand still") << " at 253 ms");
            for (const int rank : {3, 4}) {
                die ? scene.kill(rank) : scene.stop(rank);
            }
            scene.pass(500ms);
            Story right;
            for (const int rank : {0, 1, 2}) {
                const Ms at = Ms(rank) + (die ? 260ms : 510ms);
                const Health end = die ? dead : suspected;
                right[{rank, 2}] = {{at, straggler}};  // now 11
                right[{rank, 3}] = {{at, end}};
                right[{rank, 4}] = {{at, end}};
            }
            REQUIRE(scene.is(right));
        }
    });
}

inline void has_said_nothing_yet() {
    in_one_thread([] {
        HeartbeatScene scene(3);
        scene.network.steps = {1000, 1000, 1000};  // a run that goes on from a snapshot
        scene.stop(2);
        scene.pass(200ms);
        CHECK(text_of(scene.last(0, 2)) == "alive, no step, silent for 190 ms");
        scene.pass(500ms);
        CHECK(scene.is({
            {{0, 2}, {{300ms, suspected}}},
            {{1, 2}, {{301ms, suspected}}},
        }));
    });
}

}  // namespace dist::harness
