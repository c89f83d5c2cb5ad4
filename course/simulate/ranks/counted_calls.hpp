// How many messages the code under simulation has sent, by the profiling interface of SimGrid's MPI.
#pragma once

namespace dist::simulation {

struct Sent {
    long messages = 0;
    long bytes = 0;
};

/// What this rank has sent so far by point-to-point calls.
Sent& sent();

}  // namespace dist::simulation
