// Right: a send is given away by MPI_Request_free, and its buffer used again after an answer has come,
// which tells that the message has arrived.
// state: pass

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() > 1) {
        return;
    }
    const int other = 1 - comm.rank();
    float data = 1;
    if (comm.rank() == 0) {
        MPI_Request sent = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Isend(&data, 1, MPI_FLOAT, other, 0, comm.handle(), &sent));
        MPI_CHECK(MPI_Request_free(&sent));
        MPI_CHECK(MPI_Recv(&data, 1, MPI_FLOAT, other, 1, comm.handle(), MPI_STATUS_IGNORE));
    } else {
        MPI_CHECK(MPI_Recv(&data, 1, MPI_FLOAT, other, 0, comm.handle(), MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Send(&data, 1, MPI_FLOAT, other, 1, comm.handle()));
    }
}

}  // namespace dist
