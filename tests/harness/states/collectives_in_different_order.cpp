// Rank 2 enters the barrier first, the others the broadcast.
// state: hang
// says: MPI_Barrier
// says: MPI_Bcast(root 0, 4 bytes)
// says: same order
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 1;
    if (comm.rank() == 2) {
        MPI_CHECK(MPI_Barrier(comm.handle()));
        MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, 0, comm.handle()));
    } else {
        MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, 0, comm.handle()));
        MPI_CHECK(MPI_Barrier(comm.handle()));
    }
}

}  // namespace dist
