// Rank 0 throws something that is no exception class.
// state: fail
// says: rank 0
// says: not a std::exception
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        throw 42;  // NOLINT
    }
}

}  // namespace dist
