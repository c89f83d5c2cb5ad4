// Rank 1 ends its process group, and with it the process that watches over it.
// state: crash
// says: rank 1 ended the process that watches over it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        kill(0, SIGKILL);
    }
}

}  // namespace dist
