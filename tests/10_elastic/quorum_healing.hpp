// Replicas that come late, and copy the weights of another one. Each function is the body of a
// TEST_CASE.
#pragma once

#include <algorithm>
#include <string>

#include "tests/10_elastic/quorum_deaths.hpp"

namespace dist::harness {

/// b and d train from the beginning; c comes, then a.
inline void heal_in_a_step_of_the_others() {
    with_scenes([](std::uint64_t seed) {
        QuorumScene scene(4, seed);
        scene.training.steps = 6;
        scene.lives[0].comes = 65ms;
        scene.lives[2].comes = 30ms;
        REQUIRE(scene.play());
        CHECK(scene.quorums.back().members.size() == 4);
        CHECK(scene.quorums.back().participants().size() == 4);
        for (const Life& life : scene.lives) {
            INFO("replica " << life.name << ": no step is held up, none is tried again");
            CHECK(std::ranges::count(life.commits, false) == 0);
        }
        CHECK(scene.lives[0].commits.size() < scene.lives[2].commits.size());
        CHECK(scene.lives[2].commits.size() < scene.lives[1].commits.size());
    });
}

/// c copies in the first step, b in the last.
inline void compute_while_one_copies() {
    with_scenes([](std::uint64_t seed) {
        QuorumScene scene(3, seed);
        scene.training.extra = 2000;  // 8 bytes a ms: a second for a copy
        scene.bytes_per_ms = 8;
        for (Life& life : scene.lives) {
            life.computes = 800ms;
        }
        scene.lives[1].comes = 1500ms;
        REQUIRE(scene.play());
        const Comparison quick{
            scene.lives[0].ended < 3200ms,
            "a copy takes 1000 ms, a gradient 800; c copies in step 1, b in step 3. All steps "
            "took " +
                std::to_string(scene.lives[0].ended.count()) + " ms, and not 2800"};
        CHECK(quick);
    });
}

/// Half of the copy has arrived when its source dies.
inline void lose_the_source() {
    with_scenes([](std::uint64_t seed) {
        for (const std::size_t source : {0, 2}) {
            QuorumScene scene(3, seed);
            scene.lives[source].fate.tears = true;
            scene.lives[source].begins = 20ms;
            scene.lives[source].fate.dies_after = 0;
            if (source == 2) {  // then it is the only one when the others come
                scene.training.steps = 4;
                scene.lives[2].computes = 40ms;
                scene.lives[0].comes = 30ms;
                scene.lives[1].comes = 30ms;
            }
            INFO("the source is number " << source << " of 3 (0 is a)");
            REQUIRE(scene.play());
            REQUIRE(scene.lives[source].fate.is_dead);
        }
    });
}

/// The source dies when it has sent all of the copies.
inline void keep_the_copy() {
    with_scenes([](std::uint64_t seed) {
        QuorumScene scene(3, seed);
        scene.lives[0].fate.dies_after = 2;
        REQUIRE(scene.play());
        for (const std::size_t who : {1, 2}) {
            const Comparison kept{
                scene.lives[who].state.front() < 2000,
                "a sends its weights (1000, 1001, ...) to b and c, and dies. Those of " +
                    scene.lives[who].name + " are at the end " +
                    std::to_string(scene.lives[who].state.front()) + ", ..."};
            REQUIRE(kept);
        }
    });
}

}  // namespace dist::harness
