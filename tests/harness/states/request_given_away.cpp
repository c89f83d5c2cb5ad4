// A send is given away by MPI_Request_free: whoever does so may change its buffer too early.
// state: forbidden
// says: MPI_Request_free was called
// says: wait for the request
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float data = 1;
    if (comm.rank() == 0) {
        MPI_Request sent = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Isend(&data, 1, MPI_FLOAT, 1, 0, comm.handle(), &sent));
        MPI_CHECK(MPI_Request_free(&sent));
    } else if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(&data, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
