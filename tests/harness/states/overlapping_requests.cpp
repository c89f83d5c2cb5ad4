// A message comes into the buffer that another one is still being sent from.
// state: forbidden
// says: MPI_Recv was called. Its buffer overlaps the one of MPI_Isend(to rank
// says: what comes in would overwrite what has not left yet
// says: pass  after: a test that passes all the same

#include <array>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int p = comm.size();
    std::array<float, 3> data{1, 2, 3};
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Isend(data.data(), 3, MPI_FLOAT, (comm.rank() + 1) % p, 0, comm.handle(), &sent));
    MPI_CHECK(MPI_Recv(
        data.data(), 3, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0, comm.handle(), MPI_STATUS_IGNORE
    ));
    MPI_CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

}  // namespace dist
