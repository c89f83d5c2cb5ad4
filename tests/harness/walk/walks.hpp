// What `prove` goes through where an exercise is a function of states and events: NAME_walk.cpp, beside NAME_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

/// A game, and what may happen in it, as people read it: "three nodes, one of which dies".
struct NamedWalk {
    std::string name;
    std::function<Walked(const WalkLimits&)> walk;
};

template <class Game>
NamedWalk walk_of(std::string name, Game game) {
    return {std::move(name), [game = std::move(game)](const WalkLimits& limits) {
                return walk(game, limits);
            }};
}

/// All walks of the exercise, the shortest first. NAME_walk.cpp says which.
std::vector<NamedWalk> walks();

}  // namespace dist::harness
