// Rank 1 ends the program that all ranks were forked from.
// state: crash
// says: the process that all ranks were forked from was killed
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <unistd.h>

#include "tests/harness/states/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        kill(parent_of(getppid()), SIGKILL);
        pause();
    }
}

}  // namespace dist
