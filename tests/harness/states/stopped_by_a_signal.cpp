// Rank 1 is stopped, as by Ctrl-Z.
// state: time_limit
// says: rank 1 sleeps, or was stopped, outside of MPI calls: what does it wait for?
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        std::raise(SIGSTOP);
    }
}

}  // namespace dist
