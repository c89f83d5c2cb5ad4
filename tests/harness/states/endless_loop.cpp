// Rank 1 computes for ever, without MPI.
// state: time_limit
// says: rank 1
// says: endless_loop.cpp:
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    volatile int x = comm.rank();
    while (x == 1) {
    }
}

}  // namespace dist
