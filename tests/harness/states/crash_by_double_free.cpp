// Rank 0 frees its memory twice.
// state: crash
// says: rank 0
// says: SIGABRT
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <cstdlib>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        void* volatile memory = std::malloc(100);
        std::free(memory);
        std::free(memory);  // NOLINT
    }
}

}  // namespace dist
