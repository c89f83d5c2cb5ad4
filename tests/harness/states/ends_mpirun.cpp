// Rank 1 ends mpirun, from which it comes by way of its watcher, the loaded program, and a proxy.
// state: crash
// says: mpirun, which started the ranks, was killed
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <unistd.h>

#include "tests/harness/states/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        pid_t ancestor = getppid();
        for (int i = 0; i < 3; ++i) {
            ancestor = parent_of(ancestor);
        }
        kill(ancestor, SIGKILL);
        pause();
    }
}

}  // namespace dist
