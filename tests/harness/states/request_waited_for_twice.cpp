// Every rank waits for a copy of a request that was waited for.
// state: forbidden
// says: MPI_Wait was called. It was given a request that no call has made, or a copy of one that was waited for
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int p = comm.size();
    const float out = 1;
    float in = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Irecv(&in, 1, MPI_FLOAT, (comm.rank() + 1) % p, 0, comm.handle(), &request));
    MPI_CHECK(MPI_Send(&out, 1, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0, comm.handle()));
    MPI_Request copy = request;
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Wait(&copy, MPI_STATUS_IGNORE));
}

}  // namespace dist
