// Rank 0 sends with tag 0, rank 1 receives tag 7.
// state: hang
// says: tag 0
// says: tag 7
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 1;
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(&x, 1, MPI_FLOAT, 1, 0, comm.handle()));
    }
    if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, 0, 7, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
