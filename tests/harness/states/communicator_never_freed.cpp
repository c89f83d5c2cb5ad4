// A communicator of its own in each call, and nobody frees it.
// state: fail
// says: 2 communicators were made by MPI_Comm_dup and never freed: MPI_Comm_free, or a dist::Communicator that owns it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    for (int call = 0; call < 2; ++call) {
        MPI_Comm own = MPI_COMM_NULL;
        MPI_CHECK(MPI_Comm_dup(comm.handle(), &own));
    }
}

}  // namespace dist
