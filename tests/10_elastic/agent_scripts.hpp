// What the tests of the agent's loop are written with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/10_elastic/agent_scene.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using Script = RoundScript;
using Lines = std::vector<std::string>;

inline const Script kCrashing = {.workers = {kCrashes, kRuns}};
inline const Script kGood = {.workers = {kEndsWell, kEndsWell}};

/// Plays a scene, and looks at what the agent did.
inline void play(AgentScene scene, const std::function<void(const AgentScene&)>& looks) {
    const Comparison is_fair = scene.play();
    INFO(scene.text());
    REQUIRE(is_fair);
    looks(scene);
}

}  // namespace dist::harness
