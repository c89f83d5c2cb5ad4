// Rank 1 ends its parent, the process that watches over it, and would live on.
// state: crash
// says: rank 1 ended the process that watches over it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        prctl(PR_SET_PDEATHSIG, 0);
        kill(getppid(), SIGKILL);
        pause();
    }
}

}  // namespace dist
