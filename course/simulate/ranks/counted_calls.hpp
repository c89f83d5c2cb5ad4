// How many messages the code under simulation has sent, by the profiling interface of SimGrid's MPI.
#pragma once

namespace dist::simulation {

struct Sent {
    long messages = 0;
    long bytes = 0;
    long crossing = 0;  // bytes to other nodes
};

/// What this rank has sent so far by point-to-point calls.
Sent& sent();

/// How many ranks a node has; 0, as in the beginning: nothing is counted as crossing.
int& ranks_per_node();

}  // namespace dist::simulation
