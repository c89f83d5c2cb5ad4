// Ranks that share cores are arranged anew by each draw, evenly, and alike as all ranks know it; ranks that have a core
// each stay where they are. Ends with 1 and a line where that does not hold. Every rank may run on the first two
// cores only.
#include <algorithm>
#include <cstdio>
#include <sched.h>
#include <set>
#include <vector>

#include <mpi.h>

#include "course/lab/machine.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"

namespace {

using namespace dist;

constexpr int kDraws = 60;

cpu_set_t own_cores() {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    return mine;
}

std::vector<int> first_two(const cpu_set_t& all) {
    std::vector<int> two;
    for (int core = 0; core < CPU_SETSIZE && two.size() < 2; ++core) {
        if (CPU_ISSET(core, &all)) {
            two.push_back(core);
        }
    }
    return two;
}

// The core of each rank; -1 where a rank may run on several.
std::vector<int> arrangement(const Communicator& comm) {
    const cpu_set_t mine = own_cores();
    const int core = CPU_COUNT(&mine) == 1 ? first_two(mine).front() : -1;
    std::vector<int> cores(static_cast<std::size_t>(comm.size()));
    MPI_CHECK(MPI_Allgather(&core, 1, MPI_INT, cores.data(), 1, MPI_INT, comm.handle()));
    return cores;
}

int look(const Communicator& comm) {
    const cpu_set_t before = own_cores();
    const std::vector<int> two = first_two(before);
    if (two.size() < 2) {
        return 77;
    }
    cpu_set_t both;
    CPU_ZERO(&both);
    CPU_SET(two[0], &both);
    CPU_SET(two[1], &both);
    sched_setaffinity(0, sizeof both, &both);
    std::set<std::vector<int>> seen;
    {
        lab::Placement placement(comm);
        for (int i = 0; i < kDraws; ++i) {
            placement.draw();
            const std::vector<int> cores = arrangement(comm);
            seen.insert(cores);
            const auto first = std::ranges::count(cores, two[0]);
            const auto second = std::ranges::count(cores, two[1]);
            if (first + second != comm.size() ||
                std::max(first, second) - std::min(first, second) > 1) {
                std::printf("draw %d: %d ranks do not share two cores evenly\n", i, comm.size());
                return 1;
            }
        }
    }
    // two ranks have a core each; of three, two share the first one; of four, two and two share
    const std::size_t all = comm.size() == 2 ? 1 : comm.size() == 3 ? 3 : 6;
    if (seen.size() != all) {
        std::printf(
            "%d draws for %d ranks made %zu arrangements, not %zu\n", kDraws, comm.size(),
            seen.size(), all
        );
        return 1;
    }
    const cpu_set_t after = own_cores();
    if (CPU_EQUAL(&after, &both) == 0) {
        std::printf("a rank is not where it was before\n");
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, look);
}
