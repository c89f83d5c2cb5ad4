// Rank 1 leaves a process behind: in a session of its own, with no environment, and its parent has ended.
// state: fail
// says: 1 process that the program had started was still there, and was ended
// says: pass  before: a test that passes
// says: pass  the state under test
// says: pass  after: a test that passes all the same

#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() != 1) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            execle("/bin/sleep", "sleep", "1000", nullptr, nullptr);
        }
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

}  // namespace dist
