// Two groups of two; in one of them both ranks receive first.
// state: hang
// says: rank 0
// says: rank 1
// says: MPI_Recv(from rank 1
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const Communicator group = comm.split(comm.rank() / 2);
    const int other = 1 - group.rank();
    float x = 1;
    if (comm.rank() < 2) {
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, other, 0, group.handle(), MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Send(&x, 1, MPI_FLOAT, other, 0, group.handle()));
    }
}

}  // namespace dist
