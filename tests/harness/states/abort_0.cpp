// Rank 3 calls MPI_Abort(comm, 0).
// state: abort
// says: rank 3
// says: MPI_Abort
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 3) {
        MPI_Abort(comm.handle(), 0);
    }
}

}  // namespace dist
