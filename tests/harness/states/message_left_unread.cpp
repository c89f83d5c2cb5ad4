// Rank 0 sends two messages without waiting, rank 1 receives one.
// state: fail
// says: rank 0
// says: MPI_Isend(to rank 1, tag 1, 4 bytes)
// says: never received
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    static float x[2] = {1, 2};
    if (comm.rank() == 0) {
        MPI_Request requests[2];
        MPI_CHECK(MPI_Isend(&x[0], 1, MPI_FLOAT, 1, 0, comm.handle(), &requests[0]));
        MPI_CHECK(MPI_Isend(&x[1], 1, MPI_FLOAT, 1, 1, comm.handle(), &requests[1]));
        MPI_CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(x, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
