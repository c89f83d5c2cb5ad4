// Every rank passes a number around the ring, and all is well.
// state: pass

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int prev = (comm.rank() - 1 + comm.size()) % comm.size();
    const float out = 1;
    float in = 0;
    MPI_CHECK(MPI_Sendrecv(
        &out, 1, MPI_FLOAT, next, 0, &in, 1, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE
    ));
}

}  // namespace dist
