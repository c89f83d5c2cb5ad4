// Rank 1 sends SIGTERM to its process group: the process that watches over it stays.
// state: crash
// says: rank 1
// says: SIGTERM
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        kill(0, SIGTERM);
    }
}

}  // namespace dist
