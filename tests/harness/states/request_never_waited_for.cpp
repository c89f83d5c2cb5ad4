// Rank 0 starts a send and never waits for it, though it is received.
// state: fail
// says: rank 0
// says: never waited for
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    static float x = 1;
    if (comm.rank() == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Isend(&x, 1, MPI_FLOAT, 1, 0, comm.handle(), &request));
    }
    if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
