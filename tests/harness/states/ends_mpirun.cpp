// Rank 1 ends the parent of its parent: mpirun.
// state: crash
// says: mpirun, which started the ranks, was killed
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <fstream>
#include <string>
#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        std::ifstream stat("/proc/" + std::to_string(getppid()) + "/stat");
        std::string pid;
        std::string name;
        std::string condition;
        pid_t parent = 0;
        stat >> pid >> name >> condition >> parent;
        kill(parent, SIGKILL);
        pause();
    }
}

}  // namespace dist
