// A process that rank 1 left ends the parent that it fell to, which keeps the whole job.
// state: crash
// says: mpirun, which started the ranks, was killed
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        if (fork() == 0) {
            setsid();
            const pid_t between = getpid();
            if (fork() != 0) {
                _exit(0);
            }
            while (getppid() == between) {
                usleep(1000);
            }
            usleep(10'000);
            kill(getppid(), SIGKILL);
            pause();
        }
        pause();
    }
}

}  // namespace dist
