// Calls one after the other by ranks that come when they like: too early, too late, never again.
#pragma once

#include <algorithm>
#include <string>

#include "course/runtime/seeded.hpp"
#include "tests/10_elastic/barrier_scene.hpp"

namespace dist::harness {

inline constexpr std::size_t kCalls = 4;

/// All leave; or all throw what rank 0 does, but for who has given up before, and none is named that had come.
inline Comparison all_or_none(const Scene& scene, std::size_t number) {
    const Ended& first = scene.call(0, number);
    const std::string call = "call " + std::to_string(number + 1);
    for (int rank = 1; rank < scene.size(); ++rank) {
        const Ended& one = scene.call(rank, number);
        const std::string name = call + ": rank " + std::to_string(rank);
        const bool is_named = std::ranges::count(first.missing, rank) != 0;
        const bool is_dead = scene.network.is_dead.at(static_cast<std::size_t>(rank));
        const bool left = one.has_ended && one.missing.empty();
        if (left != first.missing.empty() && !is_dead) {
            return {
                false,
                name + (left ? " leaves, and rank 0 names ranks: " + text_of(first.missing)
                             : " names ranks: " + text_of(one.missing) + ", and rank 0 leaves")};
        }
        if (is_dead || left || !one.has_ended) {
            continue;
        }
        const bool gave_up = one.missing == Ranks{0} && one.ended <= first.ended;
        if (one.missing != first.missing && !gave_up) {
            return {
                false, name + " names ranks: " + text_of(one.missing) +
                           ", and rank 0 names: " + text_of(first.missing)};
        }
        if (is_named && !gave_up && one.came < first.ended) {
            return {false, name + " has come, and rank 0 names it"};
        }
    }
    return first.missing.empty()
               ? scene.all_leave(number, scene.dies.empty() ? -1 : scene.dies.begin()->first)
               : Comparison{};
}

inline void lives_of_barriers() {
    long leaves = 0;
    long throws = 0;
    on_ranks({1}, [&](const Communicator&) {
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            INFO("seed " << seed);
            const int p = 2 + static_cast<int>(seed % 3);
            Scene scene(p, seed);
            std::uint64_t drawn = 0;
            const auto draw = [&](int end) {
                return static_cast<int>(seeded_bits(seed, drawn++) % static_cast<unsigned>(end));
            };
            for (int rank = 0; rank < p; ++rank) {
                Ms at{0};
                for (std::size_t number = 0; number < kCalls; ++number) {
                    at += Ms(draw(4) == 0 ? 150 : draw(50));
                    scene.calls_of(rank).push_back(
                        {.at = at, .wait_all_ranks = draw(2) == 0, .timeout = 60ms}
                    );
                }
            }
            if (seed % 4 == 3) {
                scene.dies[1 + draw(p - 1)] = Ms(draw(300));
            }
            REQUIRE(scene.play());
            for (std::size_t number = 0; number < kCalls; ++number) {
                REQUIRE(all_or_none(scene, number));
                (scene.call(0, number).missing.empty() ? leaves : throws) += 1;
            }
        }
        INFO(leaves << " calls that all left, " << throws << " at which ranks were missing");
        CHECK((leaves >= 5 && throws >= 5));
    });
}

}  // namespace dist::harness
