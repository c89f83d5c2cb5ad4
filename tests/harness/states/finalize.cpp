// Ends MPI under the test.
// state: forbidden
// says: MPI_Finalize
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    (void)comm;
    MPI_Finalize();
}

}  // namespace dist
