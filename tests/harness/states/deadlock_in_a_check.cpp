// Two ranks receive from each other inside a check: a deadlock, and not a failed check.
// state: hang
// says: each of these ranks receives first, and none has sent to the one that waits for it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int partner = comm.rank() ^ 1;
    float x = 0;
    CHECK(MPI_Recv(&x, 1, MPI_FLOAT, partner, 0, comm.handle(), MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

}  // namespace dist
