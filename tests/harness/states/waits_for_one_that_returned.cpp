// Rank 1 receives what rank 0 never sends.
// state: hang
// says: rank 1
// says: MPI_Recv(from rank 0, tag 0, 4 bytes)
// says: has returned
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 1;
    if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
