// Rank 2 of three that are plain processes dies, where the exercise does not say that it may.
// state: fail in the state under test
// says: rank 2 was killed by SIGSEGV
// says: process_dies.cpp:16

#include <csignal>

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const auto body = [](int rank, int /*p*/) {
        if (rank == 2) {
            raise(SIGSEGV);
        }
    };
    if (comm.rank() == 0) {
        harness::on_processes(3, body);
    }
}

}  // namespace dist
