// Rank 2 writes through a null pointer.
// state: crash
// says: rank 2
// says: SIGSEGV
// says: crash_by_null_pointer.cpp:
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    volatile int* volatile nowhere = nullptr;
    if (comm.rank() == 2) {
        *nowhere = 1;
    }
}

}  // namespace dist
