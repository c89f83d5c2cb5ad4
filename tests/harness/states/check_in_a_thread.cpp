// Rank 0 checks something in a thread of its own, for which Catch2 has no lock.
// state: crash
// says: rank 0: a check of this test ran in another thread than the test itself
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <thread>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        std::thread([] { CHECK(true); }).join();
    }
}

}  // namespace dist
