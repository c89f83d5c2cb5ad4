// Rank 1 takes itself for the root.
// state: hang
// says: MPI_Bcast(root 1, 4 bytes)
// says: MPI_Bcast(root 0, 4 bytes)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 1;
    const int root = comm.rank() == 1 ? 1 : 0;
    MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, root, comm.handle()));
}

}  // namespace dist
