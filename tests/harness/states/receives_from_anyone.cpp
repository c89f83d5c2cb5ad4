// Rank 0 receives from whoever sends, and nobody does.
// state: hang
// says: rank 0 receives from any rank (as a source, -1 means that), and no rank sends to it
// says: rank 3  has returned
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        float x = 0;
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, MPI_ANY_SOURCE, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
