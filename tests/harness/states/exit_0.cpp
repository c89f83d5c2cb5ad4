// Rank 0 calls exit(0).
// state: early_exit
// says: rank 0
// says: exit(0)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <cstdlib>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        std::exit(0);
    }
}

}  // namespace dist
