// Rank 0 asks for ever whether a message has come that nobody sends.
// state: hang
// says: rank 0
// says: loop
// says: MPI_Test
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float x = 0;
    if (comm.rank() == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Irecv(&x, 1, MPI_FLOAT, 1, 0, comm.handle(), &request));
        int done = 0;
        while (done == 0) {
            MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        }
    }
}

}  // namespace dist
