// A request that is started again and again: the layer does not follow it.
// state: forbidden
// says: MPI_Send_init was called
// says: do not follow persistent requests
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float data = 1;
    if (comm.rank() == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Send_init(&data, 1, MPI_FLOAT, 1, 0, comm.handle(), &request));
        MPI_CHECK(MPI_Start(&request));
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Request_free(&request));
    } else if (comm.rank() == 1) {
        MPI_CHECK(MPI_Recv(&data, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
