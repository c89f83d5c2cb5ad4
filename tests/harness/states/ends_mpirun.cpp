// Rank 1 ends mpirun, from which it comes by way of its watcher, the loaded program, and a proxy.
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
namespace {

pid_t parent_of(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string pid;
    std::string name;
    std::string condition;
    pid_t parent = 0;
    stat >> pid >> name >> condition >> parent;
    return parent;
}

}  // namespace

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
