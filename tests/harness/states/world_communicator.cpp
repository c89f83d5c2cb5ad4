// MPI_COMM_WORLD in the place of the communicator that was given.
// state: forbidden
// says: MPI_COMM_WORLD
// says: comm.handle()
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    (void)comm;
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace dist
