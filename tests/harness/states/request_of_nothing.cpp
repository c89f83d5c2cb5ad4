// Rank 0 waits for two requests, of which it has made one.
// state: forbidden
// says: MPI_Waitall was called. It was given a request that no call has made
// says: request_of_nothing.cpp:20
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() != 0) {
        return;
    }
    float x = 0;
    MPI_Request requests[2] = {};
    MPI_Isend(&x, 0, MPI_FLOAT, 0, 0, comm.handle(), &requests[0]);
    // and the call that would have made the other one is forgotten
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
}

}  // namespace dist
