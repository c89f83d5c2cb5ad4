// What prove goes through for rendezvous.
#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"

#include "tests/harness/walk/walks.hpp"

std::vector<dist::harness::NamedWalk> dist::harness::walks() {
    const Names two = {"a", "b"};
    const Names three = {"a", "b", "c"};
    std::vector<NamedWalk> all;
    const auto add = [&](const std::string& name, const Cast& cast) {
        all.push_back(walk_of(name, RendezvousGame(cast)));
    };
    add("two nodes, look by look: one dies, one leaves, closes or gives up, writes come too late",
        {.min = 1, .max = 2, .names = two, .deaths = 1, .endings = 1, .is_late = true});
    add("three nodes and room for two: one leaves, closes or gives up",
        {.min = 2, .max = 2, .names = three, .endings = 1, .in_turns = true});
    add("two or three of three nodes: one leaves, closes or gives up",
        {.min = 2, .max = 3, .names = three, .endings = 1, .in_turns = true});
    add("two or three of three nodes, look by look", {.min = 2, .max = 3, .names = three});
    add("two or three of three nodes: one dies, writes come too late",
        {.min = 2, .max = 3, .names = three, .deaths = 1, .is_late = true, .in_turns = true});
    return all;
}
