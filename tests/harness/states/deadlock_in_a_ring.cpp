// Three ranks receive from the left before they send to the right.
// state: hang
// says: MPI_Recv(from rank 2, tag 0, 4 bytes)
// says: 0 waits for 2
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 3) {
        return;
    }
    const int next = (comm.rank() + 1) % 3;
    const int prev = (comm.rank() + 2) % 3;
    float x = 1;
    MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Send(&x, 1, MPI_FLOAT, next, 0, comm.handle()));
}

}  // namespace dist
