// What prove goes through for elastic_agent.
#include "tests/10_elastic/agent_nodes_walk.hpp"
#include "tests/harness/walk/walks.hpp"

std::vector<dist::harness::NamedWalk> dist::harness::walks() {
    return {
        walk_of("three nodes, no restart: all live, and come when they like", NodesGame(0, 0)),
        walk_of(
            "three nodes, no restart: two die, are cut off, or are told to end", NodesGame(0, 2)
        ),
        walk_of(
            "three nodes, one restart: one dies, is cut off, or is told to end", NodesGame(1, 1)
        ),
    };
}
