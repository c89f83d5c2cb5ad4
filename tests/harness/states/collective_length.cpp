// The ranks disagree on the length of a broadcast.
// state: hang
// says: MPI_Bcast(root 0, 4 bytes)
// says: MPI_Bcast(root 0, 8 bytes)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x[2] = {1, 2};
    MPI_CHECK(MPI_Bcast(x, comm.rank() == 3 ? 2 : 1, MPI_FLOAT, 0, comm.handle()));
}

}  // namespace dist
