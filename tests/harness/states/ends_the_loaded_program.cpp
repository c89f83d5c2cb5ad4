// Rank 1 ends the program that all ranks were forked from.
// state: crash
// says: the process that all ranks were forked from was killed
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
        kill(parent_of(getppid()), SIGKILL);
        pause();
    }
}

}  // namespace dist
