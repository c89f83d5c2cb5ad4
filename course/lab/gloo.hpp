// Gloo's all-reduce beside the course's and MPI's own.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"

namespace dist::lab {

/// The environment's name of the network interface that Gloo is to take, as in PyTorch.
inline constexpr const char* kGlooInterface = "GLOO_SOCKET_IFNAME";

/// Gloo's all-reduce: a ring over TCP, on the loopback interface unless another is named. The first call on a communicator
/// connects its ranks. nullptr if the bench was built without Gloo.
Run gloo_all_reduce();

/// Gives the row `gloo`, if it is among `algorithms`, what it runs; or takes it away, and says why.
///
/// nodes  that the ranks are on.
inline std::string load_gloo(std::vector<Algorithm>& algorithms, int nodes) {
    const auto row = std::ranges::find(algorithms, "gloo", &Algorithm::name);
    if (row == algorithms.end()) {
        return "";
    }
    row->run = gloo_all_reduce();
    const bool reachable = nodes == 1 || std::getenv(kGlooInterface) != nullptr;
    if (row->run != nullptr && reachable) {
        return "";
    }
    const bool built = row->run != nullptr;
    algorithms.erase(row);
    return std::string("gloo is left out: ") +
           (built ? "between machines it needs their network's interface: set GLOO_SOCKET_IFNAME, "
                    "to eth0 for example"
                  : "it needs Gloo. On Debian: apt-get install libgloo-dev");
}

}  // namespace dist::lab
