// Rank 1 closes every file that it did not open.
// state: early_exit
// says: does the code close files that it has not opened?
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    for (int file = 3; comm.rank() == 1 && file < 1024; ++file) {
        close(file);
    }
}

}  // namespace dist
