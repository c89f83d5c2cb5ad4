// What prove goes through for remote_reference.
#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/walk/walks.hpp"

std::vector<dist::harness::NamedWalk> dist::harness::walks() {
    std::vector<NamedWalk> all;
    for (const auto& [name, game] : reference_walks()) {
        all.push_back(walk_of(name, game));
    }
    return all;
}
