// Ranks 0 and 1 both send first; nobody receives.
// state: hang
// says: a world of 4 ranks
// says: rank 0
// says: MPI_Send(to rank 1, tag 0, 4 bytes)
// says: 0 waits for 1, 1 waits for 0
// says: deadlock_of_two.cpp
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int other = 1 - comm.rank();
    float x = 1;
    if (other >= 0) {
        MPI_CHECK(MPI_Send(&x, 1, MPI_FLOAT, other, 0, comm.handle()));
        MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, other, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
