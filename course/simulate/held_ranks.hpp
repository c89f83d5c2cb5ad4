// How many simulated ranks this machine holds: all of them live in one process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace dist::cli {

/// What this machine has for them.
struct Supply {
    double mappings = 0;  // of one process: vm.max_map_count
    double disk_bytes = 0;
    double memory_bytes = 0;
};
Supply supply_here();

/// What one rank takes of it.
struct Demand {
    double mappings = 0;
    double disk_bytes = 0;
    double memory_bytes = 0;
};

/// With the code that runs on each rank, of which each has a copy.
///
/// module  that code; where it is not built yet, it is taken to be as large as usual.
/// bytes   the longest data of a rank.
Demand demand_with_code(const std::filesystem::path& module, std::size_t bytes, int ranks);

/// Of messages alone, which SMPI replays.
Demand demand_replayed();

struct Held {
    int ranks = 0;
    std::string
        limit;  // "each takes 6 of the 65530 mappings of memory that a process may have (sysctl vm.max_map_count)"
};
Held held_ranks(const Supply& supply, const Demand& demand);

}  // namespace dist::cli
