// All ranks call _exit(0).
// state: early_exit
// says: exit
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() >= 0) {
        _exit(0);
    }
}

}  // namespace dist
