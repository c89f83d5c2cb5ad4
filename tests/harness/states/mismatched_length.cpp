// The message is longer than the buffer of its receiver.
// state: fail
// says: rank 1
// says: MPI_Recv
// says: message truncated: rank 0 sent 8 bytes, the receive has room for 4
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x[2] = {1, 2};
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(x, 2, MPI_FLOAT, 1, 0, comm.handle()));
    }
    if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(x, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
