// Lives drawn by a seed: each look of each rank is held against the header's rules, written down
// once more.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/10_elastic/heartbeat_scene.hpp"

namespace dist::harness {

/// What one rank has to know, from what the network has for it.
class RightLooks {
  public:
    RightLooks(HeartbeatScene& scene, int me, int misses)
        : scene_(scene), me_(me), too_long_(misses * kInterval) {
        all_.resize(static_cast<std::size_t>(scene.size()));
    }

    /// Called before it looks.
    std::vector<RankHealth> look() {
        const Ms clock = scene_.network.now + scene_.skew(me_);
        const Ms passed = std::clamp(clock - looked_.value_or(clock), 0ms, kInterval);
        looked_ = clock;
        for (int rank = 0; RankHealth & one : all_) {
            one.silence += passed;
            hear(one, rank++);
        }
        std::vector<std::int64_t> steps;
        for (const RankHealth& one : all_) {
            if (one.health == alive && one.step) {
                steps.push_back(*one.step);
            }
        }
        std::ranges::sort(steps);
        for (RankHealth& one : all_) {
            if (one.health == alive && one.step && *one.step + kMaxLag < steps[steps.size() / 2]) {
                one.health = straggler;
            }
        }
        return all_;
    }

  private:
    void hear(RankHealth& one, int rank) {
        if (rank == me_) {
            one = {.step = scene_.step(me_)};
            return;
        }
        if (one.health == dead) {
            return;
        }
        bool all_came = true;
        for (const HeartbeatNetwork::Mail& mail : scene_.network.edge(rank, me_).mail) {
            all_came = all_came && mail.comes <= scene_.network.now;
            if (all_came) {
                one.step = mail.step;
                one.silence = 0ms;
            }
        }
        one.health = one.silence >= too_long_ ? suspected : alive;
        if (scene_.network.is_dead[static_cast<std::size_t>(rank)] && all_came) {
            one.health = dead;
        }
    }

    HeartbeatScene& scene_;
    int me_;
    Ms too_long_;
    std::optional<Ms> looked_;
    std::vector<RankHealth> all_;
};

/// All ranks look for so long, and each look is right.
inline Comparison is_right(
    HeartbeatScene& scene, std::vector<RightLooks>& right, Ms time, std::map<Health, long>& seen
) {
    for (const Ms end = scene.network.now + time; scene.network.now < end;
         scene.network.now += 1ms) {
        for (int rank = 0; rank < scene.size(); ++rank) {
            if (!scene.has_turn(rank)) {
                continue;
            }
            const auto expected = right[static_cast<std::size_t>(rank)].look();
            const auto& got = scene.look(rank);
            for (std::size_t other = 0; other < got.size(); ++other) {
                ++seen[got[other].health];
                if (got[other] != expected[other]) {
                    return {
                        false, "at " + text_of(scene.network.now) + " rank " +
                                   std::to_string(rank) + " takes rank " + std::to_string(other) +
                                   " for " + text_of(got[other]) +
                                   ". It has to take it for: " + text_of(expected[other])};
                }
            }
        }
    }
    return {};
}

/// One change, drawn: of a rank, a clock or the way from one rank to another.
inline void something_happens(HeartbeatScene& scene, const std::function<int(int end)>& draw) {
    const int rank = draw(scene.size());
    switch (draw(8)) {
        case 0:
        case 1:
            scene.stop(rank);
            break;
        case 2:
        case 3:
            if (!scene.network.is_dead[static_cast<std::size_t>(rank)]) {
                scene.go_on(rank);
            }
            break;
        case 4:
            scene.skew(rank) += Ms(draw(4000) - 2000);
            break;
        case 5:
            scene.looks_every(rank, draw(2) == 0 ? kLook : 170ms);
            break;
        case 6:
            scene.network.edge(rank, draw(scene.size())).delay = Ms(draw(500));
            break;
        default:
            if (draw(12) == 0) {
                scene.kill(rank);
            }
    }
}

inline void lives_of_ranks() {
    std::map<Health, long> seen;
    in_one_thread([&] {
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            INFO("seed " << seed);
            const int p = 2 + static_cast<int>(seed % 4);
            const int misses = 2 + static_cast<int>(seed % 3);
            HeartbeatScene scene(p, with_misses(misses));
            std::vector<RightLooks> right;
            right.reserve(static_cast<std::size_t>(p));
            for (int rank = 0; rank < p; ++rank) {
                right.emplace_back(scene, rank, misses);
            }
            std::uint64_t drawn = 0;
            const auto draw = [&](int end) {
                return static_cast<int>(seeded_bits(seed, drawn++) % static_cast<unsigned>(end));
            };
            for (int change = 0; change < 60; ++change) {
                something_happens(scene, draw);
                for (int rank = 0; rank < p; ++rank) {
                    const bool goes_back = draw(20) == 0;  // to a snapshot
                    scene.step(rank) += goes_back ? -15 : draw(6);
                }
                REQUIRE(is_right(scene, right, Ms(20 + draw(80)), seen));
            }
        }
        for (const Health health : {alive, straggler, suspected, dead}) {
            INFO(text_of(health) << ": " << seen[health] << " times");
            CHECK(seen[health] >= 50);
        }
    });
}

}  // namespace dist::harness
