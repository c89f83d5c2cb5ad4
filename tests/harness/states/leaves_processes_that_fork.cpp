// Rank 1 leaves four processes that go on forking: each ends as soon as its child has taken over.
// state: fail
// says: still there, and were ended
// says: pass  after: a test that passes all the same

#include <csignal>
#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    for (int i = 0; comm.rank() == 1 && i < 4; ++i) {
        if (fork() == 0) {
            setsid();
            while (true) {
                if (fork() > 0) {
                    usleep(20'000);
                    _exit(0);
                }
                usleep(20'000);
            }
        }
    }
}

}  // namespace dist
