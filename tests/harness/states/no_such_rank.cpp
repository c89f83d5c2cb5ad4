// The last rank sends to one beyond it, and does not look at what MPI_Send returns.
// state: fail
// says: rank 3
// says: MPI_Send(to rank 4, tag 0, 4 bytes) failed: MPI_ERR_RANK
// says: (a world of 4 ranks)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 0;
    if (comm.rank() > 0) {
        MPI_Recv(&x, 1, MPI_FLOAT, comm.rank() - 1, 0, comm.handle(), MPI_STATUS_IGNORE);
    }
    MPI_Send(&x, 1, MPI_FLOAT, comm.rank() + 1, 0, comm.handle());
}

}  // namespace dist
